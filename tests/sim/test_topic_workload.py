"""The market of topics meets the workload numbers it was made for."""

from __future__ import annotations

import pytest

from penstock.content.index import MatchingIndex
from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from penstock.sim.topic_workload import TopicWorkload


@pytest.mark.spec("M-4.3")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("subscribers", "topics"),
    [(54, TopicWorkload(hot_share=0.55)), (220, TopicWorkload(hot_share=0.48))],
)
def test_few_receivers_and_low_match_probabilities(
    subscribers: int, topics: TopicWorkload, seed: int
) -> None:
    """Half the messages have at most two receivers; four fifths of pairs match below .08."""
    rng = Seeds(seed).rng("market")
    interests = [topics.interest(rng) for _ in range(subscribers)]
    odds = [topics.match_probability(interest) for interest in interests]
    assert max(odds) <= 0.1
    assert 0.75 <= sum(p < 0.08 for p in odds) / subscribers <= 0.95

    index: MatchingIndex[int] = MatchingIndex()
    for subscriber, interest in enumerate(interests):
        index.add(subscriber, interest)
    cumulative = topics.cumulative()
    receivers = [len(index.match(topics.message(rng, cumulative))) for _ in range(5000)]
    assert 0.5 <= sum(n <= 2 for n in receivers) / len(receivers) <= 0.65
    mean = sum(receivers) / len(receivers)
    assert mean == pytest.approx(sum(odds), rel=0.05)


def test_a_message_has_as_many_attributes_as_asked_for() -> None:
    message = TopicWorkload(attributes=10).message(Seeds(1).rng("one"))
    assert len(message.attributes) == 10


def test_impossible_markets_are_refused() -> None:
    with pytest.raises(UsageError, match="hot_share"):
        TopicWorkload(hot_share=1.5)
    with pytest.raises(UsageError, match="interest_max"):
        TopicWorkload(interest_max=0.9)
    with pytest.raises(UsageError, match="no cold topics"):
        TopicWorkload(cold=0)
    with pytest.raises(UsageError, match="at least one hot"):
        TopicWorkload(hot=0)
