"""What is timed is what it is said to be, and comes out right."""

from __future__ import annotations

import pytest

from bench import BENCHES, congestion
from bench.congestion import CASES, GOALS, RATIOS
from bench.congestion.crowd import Crowd, CrowdCase
from bench.congestion.publishing import Publishing, PublishingCase, filters, messages
from penstock.content.covering import covers
from penstock.content.tags import Encoder
from penstock.kernel.instant import SECOND
from penstock.kernel.seeds import Seeds
from penstock.transport.congestion.settings import LITERAL

ENCODER = Encoder(b"test")


@pytest.mark.parametrize("flows", [10, 100, 1_000])
def test_a_message_is_in_a_few_flows_and_none_covers_another(flows: int) -> None:
    wanted = list(filters(flows))
    assert len({*wanted}) == flows
    assert not any(covers(a, b) for a in wanted[:100] for b in wanted[:100] if a is not b)
    sent = list(messages(flows, 300))
    matched = sum(filter_.matches(message) for filter_ in wanted for message in sent)
    assert 1.5 < matched / len(sent) < 4
    assert {len(message.attributes) for message in sent} == {*range(5, 11)}


@pytest.mark.parametrize("way", CASES, ids=lambda way: way.name)
def test_messages_leave_with_the_flows_that_they_are_in(way: PublishingCase) -> None:
    bench = Publishing(way, ENCODER)
    bench.begin()
    assert bench.seconds(200) > 0
    if way.is_controlled:
        assert bench.endpoint.congestion is not None
        assert len(bench.endpoint.congestion.controlled_flows) == way.flows
    if not way.slow_every:
        # One to begin with.
        assert [frame.message for frame in bench.sent[1:]] == bench.messages[:200]
    else:
        assert 0 < len(bench.sent) < 200
    for frame in bench.sent[1:]:
        wanted = sum(filter_.matches(frame.message) for filter_ in bench.filters)
        assert len(frame.flows) == wanted
    assert {frame.record.count for frame in bench.sent[11:]} == {way.record}


def test_goals_and_ratios_name_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*GOALS, *(way for pair in RATIOS for way in pair)} <= {*CASES}
    assert "congestion" in BENCHES
    monkeypatch.setattr(congestion, "ROUNDS", 1)
    monkeypatch.setattr(congestion, "MESSAGES", 20)
    monkeypatch.setattr(congestion, "RECEIVERS", (2,))
    result = congestion.run(lambda _line: None)
    assert {case.case for case in result.cases} >= {way.name for way in CASES}
    assert len(result.ratios) == len(RATIOS)


# Feedback of many -------------------------------------------------------------------------------


def test_of_three_hundred_behind_one_link_few_speak() -> None:
    """Fails if nobody waits for others, as `literal` does not."""
    scene = CrowdCase(receivers=300, duration_ns=12 * SECOND, halved_at_ns=7 * SECOND)
    outcome = Crowd(scene, Seeds(1)).run()
    assert outcome.start.mean <= 50
    assert outcome.steady.mean <= 50
    assert outcome.halved.mean <= 50
    assert outcome.use > 0.8


def test_where_nobody_waits_for_others_all_speak() -> None:
    """So that it is not the model that keeps them silent."""
    scene = CrowdCase(
        receivers=50, duration_ns=8 * SECOND, halved_at_ns=6 * SECOND, settings=LITERAL
    )
    assert Crowd(scene, Seeds(1)).run().start.peak > 100


def test_the_same_seed_gives_the_same_crowd() -> None:
    scene = CrowdCase(receivers=10, duration_ns=8 * SECOND, halved_at_ns=6 * SECOND)
    one, other, third = (Crowd(scene, Seeds(seed)).run() for seed in (1, 1, 2))
    assert one == other != third


@pytest.mark.soak
def test_of_ten_thousand_few_speak() -> None:
    outcome = Crowd(CrowdCase(receivers=10_000), Seeds(1)).run()
    assert max(outcome.start.mean, outcome.steady.mean, outcome.halved.mean) <= 50
