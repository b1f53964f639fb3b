"""A frame counts once, whatever its number is."""

from __future__ import annotations

from penstock.bloomcast.discovery.replay_window import ReplayWindow
from penstock.wire.frames.cast.base import Origin

LAST = 0xFFFF_FFFF


def window() -> ReplayWindow:
    return ReplayWindow(window=64, senders_max=8)


def takes(seen: ReplayWindow, *numbers: int, boot: int = 1) -> list[bool]:
    return [seen.is_new(Origin(7, boot, number)) for number in numbers]


def test_a_frame_counts_once_and_not_when_it_is_too_old() -> None:
    assert takes(window(), 100, 100, 99, 99, 37, 36, 101) == [
        True, False, True, False, True, False, True,
    ]  # fmt: skip


def test_a_number_far_behind_costs_nothing() -> None:
    seen = window()
    assert takes(seen, 0x7000_0000) == [True]
    # Shifting by the distance would take 224 MB.
    assert takes(seen, *range(5, 5_000)) == [False] * 4_995


def test_after_the_last_number_comes_the_first() -> None:
    assert takes(window(), LAST, 1, LAST, 0, 1) == [True, True, False, True, False]


def test_a_number_far_ahead_silences_a_sender_until_its_next_start_at_most() -> None:
    seen = window()
    assert takes(seen, 10, 10 + (1 << 30), 11, 12) == [True, True, False, False]
    assert takes(seen, 1, 2, 1, boot=2) == [True, True, False]
    assert takes(seen, 11) == [False]
