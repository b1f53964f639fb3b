"""LIVE goes off far behind, and on again well before the end."""

from __future__ import annotations

from penstock.guaranteed.host.live_switch import LiveSwitch

WINDOW = 1_000


def test_live_is_off_only_in_a_recovery_and_beyond_the_window() -> None:
    switch = LiveSwitch(WINDOW)
    assert not switch.turn(WINDOW + 1, is_recovering=False)
    assert not switch.turn(WINDOW, is_recovering=True)
    assert switch.turn(WINDOW + 1, is_recovering=True)
    assert not switch.is_on
    # It is told once.
    assert not switch.turn(5 * WINDOW, is_recovering=True)


def test_live_is_on_again_below_four_fifths_of_the_window() -> None:
    switch = LiveSwitch(WINDOW)
    switch.turn(2 * WINDOW, is_recovering=True)
    assert not switch.turn(800, is_recovering=True)
    assert switch.turn(799, is_recovering=True)
    assert switch.is_on
    assert not switch.turn(WINDOW, is_recovering=True)


def test_live_is_on_after_a_recovery_however_much_is_left() -> None:
    switch = LiveSwitch(WINDOW)
    switch.turn(2 * WINDOW, is_recovering=True)
    assert switch.turn(2 * WINDOW, is_recovering=False)
    assert switch.is_on


def test_live_is_on_when_the_link_comes_back() -> None:
    switch = LiveSwitch(WINDOW)
    assert not switch.reset()
    switch.turn(2 * WINDOW, is_recovering=True)
    assert switch.reset()
    assert switch.is_on
