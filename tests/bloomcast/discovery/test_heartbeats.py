"""Who misses nothing is quick to notice that a sender is gone."""

from __future__ import annotations

from penstock.bloomcast.discovery.heartbeats import Heartbeats
from penstock.kernel.instant import SECOND


def silence_after(*periods: int) -> int:
    beats = Heartbeats(SECOND, 3 * SECOND)
    for each in periods:
        beats.on_heard(each)
    return beats.silence_ns // SECOND


def test_without_losses_three_periods_are_the_end() -> None:
    assert silence_after() == 3
    assert silence_after(*[1] * 100) == 3
    # A second HELLO in one period is no loss.
    assert silence_after(0, 1, 0, 1) == 3


def test_each_loss_of_the_last_32_adds_two_periods() -> None:
    assert silence_after(1, 2, 1) == 5
    assert silence_after(3, 1) == 7
    assert silence_after(*[2] * 10) == 12
    assert silence_after(2, *[1] * 30) == 5
    assert silence_after(2, *[1] * 31) == 3


def test_an_outage_is_no_loss() -> None:
    assert silence_after(12) == 12
    assert silence_after(2, 13) == 3
