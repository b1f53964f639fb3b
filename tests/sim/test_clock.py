"""What time a host believes it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.sim.clock import Clock


def _changed(offset_ns: int, drift_ppm: float, step_ns: int, pace_ppm: float, at: int) -> Clock:
    clock = Clock(offset_ns=offset_ns, drift_ppm=drift_ppm)
    clock.step(step_ns, at=at)
    clock.set_drift(pace_ppm, at=2 * at)
    return clock


INSTANTS = st.integers(0, 10**18)
CLOCKS = st.builds(
    _changed,
    st.integers(-(10**12), 10**12),
    st.floats(-500, 500),
    st.integers(-(10**10), 10**10),
    st.floats(-500, 500),
    st.integers(0, 10**15),
)


@given(CLOCKS, INSTANTS)
def test_when_is_the_first_instant_that_shows_a_time(clock: Clock, at: int) -> None:
    local = clock.local(at)
    first = clock.global_at(local)
    assert first <= at
    assert clock.local(first) >= local
    assert clock.local(first - 1) < local


@given(CLOCKS, INSTANTS)
def test_a_timer_set_in_local_time_is_due_when_it_rings(clock: Clock, local: int) -> None:
    at = clock.global_at(local)
    assert clock.local(at) >= local > clock.local(at - 1)


@given(CLOCKS, INSTANTS, st.integers(0, 10**12))
def test_a_clock_never_goes_back_by_itself(clock: Clock, at: int, later_ns: int) -> None:
    assert clock.local(at) <= clock.local(at + later_ns)


def test_drift_offset_and_steps_add_up() -> None:
    clock = Clock(offset_ns=-100, drift_ppm=50)
    assert clock.local(0) == -100
    assert clock.local(SECOND) == SECOND + 50_000 - 100
    clock.step(-7, at=SECOND)
    assert clock.local(SECOND) == SECOND + 50_000 - 107
    clock.set_drift(0, at=SECOND)
    assert clock.local(3 * SECOND) == 3 * SECOND + 50_000 - 107


def test_a_broken_oscillator_is_refused() -> None:
    with pytest.raises(UsageError, match="write between"):
        Clock(drift_ppm=2_000_000)
