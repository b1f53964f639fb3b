"""Trains leave at the rate, whatever the driver does."""

from __future__ import annotations

import pytest

from penstock.bloomcast.publisher.pacing import Pacing
from penstock.kernel.instant import MILLISECOND, SECOND

# A train of 1 000 bytes takes 10 ms.
RATE = 100_000
TRAIN = 1_000


def started(now: int) -> Pacing:
    pacing = Pacing(RATE)
    assert pacing.next_at(now) == now
    pacing.sent(TRAIN, now)
    return pacing


def test_the_second_train_waits_for_its_turn() -> None:
    assert started(SECOND).next_at(SECOND) == SECOND + 10 * MILLISECOND


@pytest.mark.parametrize("late_ms", [0, 5, 20])
def test_a_driver_that_is_late_loses_nothing(late_ms: int) -> None:
    pacing = started(SECOND)
    pacing.sent(TRAIN, SECOND + (10 + late_ms) * MILLISECOND)
    assert pacing.next_at(0) == SECOND + 20 * MILLISECOND


def test_a_driver_that_is_very_late_loses_what_would_be_a_burst() -> None:
    pacing = started(SECOND)
    now = SECOND + 110 * MILLISECOND
    pacing.sent(TRAIN, now)
    assert pacing.next_at(0) == now - 10 * MILLISECOND


def test_after_a_pause_nothing_is_caught_up() -> None:
    pacing = started(SECOND)
    pacing.sent(TRAIN, 3 * SECOND)
    assert pacing.next_at(0) == 3 * SECOND + 10 * MILLISECOND
