"""Epochs: newer at every start."""

from __future__ import annotations

import pytest

from penstock.kernel.sequence import EPOCH
from penstock.live import epoch


def test_a_restart_within_the_same_second_is_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "_last_s", 0)
    monkeypatch.setattr("time.time", lambda: 1_000_000.5)
    first, second = epoch.new_epoch(), epoch.new_epoch()
    assert EPOCH.is_newer(second, first)


def test_epochs_follow_the_clock_and_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "_last_s", 0)
    times = iter([2.0**16 - 1, 2.0**16 + 3, 2.0**16 + 9])
    monkeypatch.setattr("time.time", lambda: next(times))
    before, after, now = epoch.new_epoch(), epoch.new_epoch(), epoch.epoch_now()
    assert (before, after, now) == (65_535, 3, 9)
    assert EPOCH.is_newer(after, before)
