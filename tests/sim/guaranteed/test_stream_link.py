"""A link: its rate, its delay, its counts, and what a cut loses."""

from __future__ import annotations

from typing import Any

from penstock.kernel.instant import MILLISECOND
from penstock.sim.events import EventQueue
from penstock.sim.guaranteed.stream_link import LinkTraffic, StreamLink

# Every frame takes 1 000 bytes, which takes 8 ms at a megabit.
SIZE, MEGABIT = 1_000, 1_000_000


class Line:
    def __init__(self, rate_bps: int | None = MEGABIT) -> None:
        self.events, self.traffic = EventQueue(), LinkTraffic()
        self.arrived: list[tuple[float, Any]] = []
        self.rooms: list[tuple[float, int]] = []
        self.link = StreamLink(
            self.events,
            delay_ns=5 * MILLISECOND,
            rate_bps=rate_bps,
            size_of=lambda _frame: SIZE,
            arrive=lambda frames: self.arrived.extend((self.now_ms, each) for each in frames),
            on_room=lambda size_bytes: self.rooms.append((self.now_ms, size_bytes)),
            traffic=self.traffic,
        )

    @property
    def now_ms(self) -> float:
        return self.events.now / MILLISECOND

    def run(self, until_ms: int) -> None:
        self.events.run(until_ms * MILLISECOND)


def test_frames_leave_one_after_another_and_give_room() -> None:
    line = Line()
    line.link.send("a")
    line.link.send("b")
    line.run(100)
    assert line.arrived == [(13, "a"), (21, "b")]
    assert line.rooms == [(8, SIZE), (16, SIZE)]
    assert (line.traffic.sent_frames, line.traffic.sent_bytes) == (2, 2 * SIZE)


def test_without_a_rate_frames_travel_together() -> None:
    line = Line(rate_bps=None)
    line.link.send("a")
    line.link.send("b")
    line.run(100)
    assert line.arrived == [(5, "a"), (5, "b")]
    assert line.rooms == [(0, 2 * SIZE)]


def test_a_new_rate_is_that_of_the_frames_that_follow() -> None:
    line = Line()
    line.link.send("a")
    line.link.rate_bps = MEGABIT // 2
    line.link.send("b")
    line.run(100)
    assert line.arrived == [(13, "a"), (29, "b")]


def test_what_is_on_its_way_is_lost_with_the_link_and_counted() -> None:
    line = Line()
    line.link.send("a")
    line.link.send("b")
    line.run(10)
    line.link.cut()
    line.run(100)
    assert not line.arrived
    assert line.rooms == [(8, SIZE)]
    assert line.traffic.lost_frames == 2
