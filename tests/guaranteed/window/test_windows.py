"""Both laws of the NACK window, against the vectors of the paper's errata."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.window.base import NackWindow, WindowSettings
from penstock.guaranteed.window.literal import LiteralWindow
from penstock.guaranteed.window.vegas import VegasWindow
from penstock.kernel.instant import MILLISECOND

SETTINGS = WindowSettings()
RTT_NS = 200 * MILLISECOND


def sizes(window: NackWindow, round_trips: int, capacity_ms_per_s: float | None) -> list[int]:
    """The window in each round trip, over a way of this capacity and 200 ms."""
    found = []
    for _ in range(round_trips):
        found.append(window.size_ms)
        rtt_ns = RTT_NS
        if capacity_ms_per_s is not None:
            rtt_ns = max(rtt_ns, round(window.size_ms / capacity_ms_per_s * 1e9))
        window.on_round_trip(window.size_ms, rtt_ns)
    return found


@pytest.mark.spec("G5")
def test_the_relative_rule_stalls_at_1200_whatever_the_capacity() -> None:
    assert sizes(LiteralWindow(SETTINGS), 16, None) == [*range(100, 1200, 100), *([1200] * 5)]


def test_the_relative_rule_closes_after_a_fall_by_three_tenths() -> None:
    window = LiteralWindow(SETTINGS)
    for _ in range(5):
        window.on_round_trip(0, RTT_NS)
    assert window.size_ms == 600
    window.on_round_trip(0, 2 * RTT_NS)
    assert window.size_ms == 500


@pytest.mark.spec("G5")
def test_the_backlog_rule_finds_the_capacity() -> None:
    steps = sizes(VegasWindow(SETTINGS, doubles=False), 14, 5_000)
    assert steps == [*range(100, 1200, 100), 1100, 1100, 1100]


def test_doubling_gets_there_sooner() -> None:
    steps = sizes(VegasWindow(SETTINGS), 11, 5_000)
    assert steps == [100, 200, 400, 800, 1600, 1500, 1400, 1300, 1300, 1300, 1300]


def test_without_a_bottleneck_the_window_is_the_receive_window() -> None:
    assert sizes(VegasWindow(SETTINGS), 9, None)[-2:] == [10_000, 10_000]
    assert sizes(VegasWindow(SETTINGS, doubles=False), 12, None) == [*range(100, 1300, 100)]


def test_a_new_recovery_begins_anew() -> None:
    for window in (VegasWindow(SETTINGS), LiteralWindow(SETTINGS)):
        first = sizes(window, 6, 3_000)
        window.begin()
        assert sizes(window, 6, 3_000) == first


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**11)), max_size=50), st.booleans())
def test_whatever_happens_the_window_keeps_its_bounds(
    round_trips: list[tuple[float, int]], is_literal: bool
) -> None:
    window: NackWindow = LiteralWindow(SETTINGS) if is_literal else VegasWindow(SETTINGS)
    for recovered_ms, rtt_ns in round_trips:
        window.on_round_trip(recovered_ms, rtt_ns)
        assert SETTINGS.first_ms <= window.size_ms <= SETTINGS.max_ms
