"""Runs: on a link they are frames, and frames are runs again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.run import Run, frames_of, run_of
from penstock.guaranteed.stream_item import StreamItem

TICKS = st.sets(st.integers(0, 60), max_size=12)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    start = draw(st.integers(0, 30))
    stop = draw(st.integers(start + 1, 61))
    ticks = sorted(tick for tick in draw(TICKS) if start <= tick < stop)
    return Run(1, start, stop, [StreamItem(tick, 5 * tick, b"%d" % tick) for tick in ticks])


def known(parts: list[Run]) -> dict[int, bytes | None]:
    """What each tick is: a body, or None for silence."""
    found: dict[int, bytes | None] = {}
    for part in parts:
        found |= dict.fromkeys(range(part.start, part.stop))
        found |= {item.tick: item.body for item in part.items}
    return found


@given(runs())
def test_frames_say_what_the_run_says_of_each_tick_once(run: Run) -> None:
    parts = [run_of(frame) for frame in frames_of(run)]
    assert known(parts) == known([run])
    assert sum(part.stop - part.start for part in parts) == run.stop - run.start


@given(runs(), st.integers(0, 61), st.integers(0, 61))
def test_the_items_of_a_part_are_those_between(run: Run, start: int, stop: int) -> None:
    between = [item for item in run.items if start <= item.tick < stop]
    assert run.items_between(start, stop) == between
