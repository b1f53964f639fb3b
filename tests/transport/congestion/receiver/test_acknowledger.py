"""What a receiver acknowledges: the flows that name it, and of these what came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import Instant
from penstock.transport.congestion.facts import AckSent
from penstock.transport.congestion.receiver.acknowledger import Acknowledger
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.frames.data import FlowAnnouncement, FlowTag
from tests.frames import data

# Only the low half of a name is announced.
ME, OTHER = 7 << 32 | 11, 12


class Line:
    """An acker, and what it said."""

    def __init__(self) -> None:
        self.said: list[Ack] = []
        self.acker = Acknowledger(ME, 1, 2, self._send)

    def _send(self, said: AckSent, now: Instant) -> None:
        del now
        self.said.append(said.frame)

    def take(self, *flows: tuple[int, int, int | None], marked: bool = False) -> None:
        told = tuple(
            FlowTag(
                id_, 1.0, seq, None if clr is None else FlowAnnouncement(clr & 0xFFFFFFFF, 1, 1)
            )
            for id_, seq, clr in flows
        )
        frame = data(1, {}, epoch=2, flows=told)
        if marked:
            self.acker.on_mark()
        self.acker.on_data(frame, 0)


def test_only_who_is_named_acknowledges() -> None:
    line = Line()
    line.take((5, 1, None))
    line.take((5, 2, OTHER))
    assert not line.said
    line.take((5, 3, ME))
    line.take((5, 4, None), (6, 1, None))
    line.take((5, 5, OTHER))
    line.take((5, 6, None))
    assert [ack.flows for ack in line.said] == [(FlowAck(5, 3, 0),), (FlowAck(5, 4, 1),)]
    assert {(ack.subscriber, ack.pub, ack.epoch) for ack in line.said} == {(ME, 1, 2)}


def test_one_for_all_flows_of_a_message() -> None:
    line = Line()
    line.take((5, 1, ME), (6, 9, ME), (7, 3, OTHER))
    assert [ack.flows for ack in line.said] == [(FlowAck(5, 1), FlowAck(6, 9))]


def test_a_mark_is_passed_on_once() -> None:
    line = Line()
    line.take((5, 1, ME), marked=True)
    line.take((5, 2, None))
    assert [ack.flows[0].congestion_experienced for ack in line.said] == [True, False]


def test_a_publisher_that_names_us_for_everything_is_not_remembered_for_all() -> None:
    line = Line()
    for number in range(1_000):
        line.take((number, 1, ME))
    assert len(line.acker) <= 64


@given(
    first=st.integers(0, 2**32 - 1),
    steps=st.lists(st.integers(-40, 80), max_size=60),
)
def test_it_tells_what_came(first: int, steps: list[int]) -> None:
    line = Line()
    line.take((5, first, ME))
    came, highest = {0}, 0
    for step in steps:
        number = highest + step
        line.take((5, (first + number) & 0xFFFFFFFF, None))
        highest = max(highest, number)
        # What is too far behind is not remembered.
        came = {n for n in {*came, number} if n >= highest - 32}
        (ack,) = line.said[-1].flows
        assert ack.flow_seq == (first + highest) & 0xFFFFFFFF
        told = {highest, *(highest - 1 - i for i in range(32) if ack.received_bitmap >> i & 1)}
        assert told == came
