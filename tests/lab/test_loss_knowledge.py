"""Receivers of different means on the same arrivals, counted by hand."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.loss_knowledge import LOSS_KNOWLEDGE, ExpectedMessage, ReplayEstimate, replay
from penstock.tfrc.throughput_equation import tcp_throughput

RATE, SECONDS = 100, 20
WAY_NS = 30 * MILLISECOND


def wanted(*, lost_every: int, gap: int = 1) -> list[ExpectedMessage]:
    """A hundred a second, `gap` numbers apart, of which the last of so many never comes."""
    found = []
    for place in range(RATE * SECONDS):
        left = place * SECOND // RATE
        is_lost = place % lost_every == lost_every - 1
        found.append(ExpectedMessage(place * gap, left, None if is_lost else left + WAY_NS))
    return found


def end_of(name: str, messages: list[ExpectedMessage], sent_mps: float = RATE) -> ReplayEstimate:
    estimates = replay(LOSS_KNOWLEDGE[name], messages, sent_mps, 0, SECONDS)
    assert len(estimates) == SECONDS
    return estimates[-1]


@pytest.mark.parametrize("name", ["ideal", "numbers", "record-2", "literal-2", "literal-all"])
def test_who_wants_everything_knows_everything(name: str) -> None:
    estimate = end_of(name, wanted(lost_every=50))
    # The last is lost after which nothing comes to tell of it; of numbers three must come.
    assert estimate.losses == RATE * SECONDS // 50 - 1
    assert estimate.loss_event_rate == pytest.approx(1 / 50, rel=0.05)
    assert estimate.allowed_mps == pytest.approx(tcp_throughput(1, 0.06, 1 / 50), rel=0.1)


def test_a_record_tells_only_of_so_many_numbers_before_it() -> None:
    apart = {gap: wanted(lost_every=50, gap=gap) for gap in (2, 3, 6)}
    known = {
        (name, gap): end_of(name, messages, RATE * gap).losses
        for gap, messages in apart.items()
        for name in ("record-2", "record-5", "numbers")
    }
    every = RATE * SECONDS // 50 - 1
    assert known == {
        ("record-2", 2): every, ("record-5", 2): every, ("numbers", 2): every,
        ("record-2", 3): 0, ("record-5", 3): every, ("numbers", 3): every,
        ("record-2", 6): 0, ("record-5", 6): 0, ("numbers", 6): every,
    }  # fmt: skip


def test_losses_within_a_round_trip_are_one_event_but_for_the_dissertation() -> None:
    messages = wanted(lost_every=50)
    # Three in a row, 20 ms of the round trip's 60.
    messages = [
        ExpectedMessage(each.seq, each.published_ns, None) if each.seq % 50 in (47, 48) else each
        for each in messages
    ]
    ideal, literal = end_of("ideal", messages), end_of("literal-all", messages)
    assert ideal.losses == literal.losses == 3 * ideal.events == literal.events
    assert ideal.loss_event_rate == pytest.approx(1 / 50, rel=0.05)


def test_nothing_that_comes_is_nothing_thought() -> None:
    assert end_of("ideal", [ExpectedMessage(0, 0, None)]) == ReplayEstimate(0.0, 0.0, 0, 0)
