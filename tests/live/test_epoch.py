"""Epochs: newer at every start."""

from __future__ import annotations

import pytest

from penstock.live import epoch
from penstock.wire.serial import EPOCH_BITS, newer


def test_a_restart_within_the_same_second_is_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "_last_s", 0)
    monkeypatch.setattr("time.time", lambda: 1_000_000.5)
    first, second = epoch.new_epoch(), epoch.new_epoch()
    assert newer(second, first, EPOCH_BITS)


def test_epochs_follow_the_clock_and_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "_last_s", 0)
    times = iter([2.0**16 - 1, 2.0**16 + 3, 2.0**16 + 9])
    monkeypatch.setattr("time.time", lambda: next(times))
    before, after, now = epoch.new_epoch(), epoch.new_epoch(), epoch.epoch_now()
    assert (before, after, now) == (65_535, 3, 9)
    assert newer(after, before, EPOCH_BITS)
