"""A child that is behind hears where new messages are, and gets them by asking."""

from __future__ import annotations

from typing import Any

from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import EVERYTHING, StreamItem
from penstock.kernel.instant import MILLISECOND
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import TickRange
from penstock.wire.frames.guaranteed.congestion import CongestionQuery, Live
from penstock.wire.frames.guaranteed.knowledge import Horizon
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack

BODY = write_body({"k": 1})


class Told:
    """A relay with a parent and the children a and b, and what each of them was told."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.relay = Relay(7, settings=RelaySettings(), send=lambda *each: self.sent.append(each))
        self.relay.parent_up("parent")
        for port in "ab":
            self.relay.child_up(port)
            self.child(port, FilterRequest(pubend=7, epoch=1, predicate=EVERYTHING))
        self.parent(FilterAck(pubend=7, epoch=1, tick=0))
        self.at = 0

    def child(self, port: str, frame: Any, *, now: int = 0) -> None:
        self.relay.receive_from_child(port, frame, now=now)

    def parent(self, frame: Any, *, now: int = 0) -> None:
        self.relay.receive_from_parent(frame, now=now)

    def publish(self, *, now: int) -> None:
        """One message at the next tick."""
        self.parent(Run(7, self.at, self.at + 1, [StreamItem(self.at, 0, BODY)]), now=now)
        self.at += 1

    def told(self, port: str) -> list[Any]:
        """What has come there since the last time."""
        own = [frame for to, frame in self.sent if to == port]
        self.sent = [each for each in self.sent if each[0] != port]
        return own


def test_while_it_is_off_a_child_hears_horizons_and_its_brothers_get_messages() -> None:
    net = Told()
    net.child("a", Live(pubend=7, is_on=False))
    net.told("a"), net.told("b")
    for number in range(100):
        net.publish(now=number * 10 * MILLISECOND)
    assert sum(len(frame.items) for frame in net.told("b")) == 100
    told = net.told("a")
    assert told
    assert all(isinstance(frame, Horizon) for frame in told)
    assert 3 <= len(told) <= 5


def test_when_it_is_on_again_messages_follow_and_what_was_left_out_can_be_asked_for() -> None:
    net = Told()
    net.publish(now=0)
    net.child("a", Live(pubend=7, is_on=False))
    for _ in range(5):
        net.publish(now=0)
    net.told("a")
    net.child("a", Live(pubend=7, is_on=True))
    assert net.told("a") == [Horizon(pubend=7, stop=6)]
    net.publish(now=0)
    (run,) = net.told("a")
    assert (run.start, run.stop) == (6, 7)
    net.child("a", Nack(pubend=7, ranges=(TickRange(1, 6),)))
    (repair,) = net.told("a")
    assert [item.tick for item in repair.items] == [1, 2, 3, 4, 5]


def test_a_query_goes_to_all_who_take_part_also_while_they_are_behind() -> None:
    net = Told()
    net.relay.child_up("c")
    net.child("a", Live(pubend=7, is_on=False))
    query = CongestionQuery(pubend=7, seq=1, newest=0)
    for port in "abc":
        net.told(port)
    net.parent(query)
    assert [net.told(port) for port in "abc"] == [[query], [query], []]


def test_the_parent_sends_no_new_messages_once_no_child_wants_any() -> None:
    net = Told()
    net.told("parent")
    net.child("a", Live(pubend=7, is_on=False))
    assert net.told("parent") == []
    net.child("b", Live(pubend=7, is_on=False))
    assert net.told("parent") == [Live(pubend=7, is_on=False)]
    net.child("a", Live(pubend=7, is_on=True))
    assert net.told("parent") == [Live(pubend=7, is_on=True)]


def test_a_child_that_comes_or_goes_changes_what_the_parent_sends() -> None:
    net = Told()
    net.child("a", Live(pubend=7, is_on=False))
    net.told("parent")
    net.relay.child_down("b")
    assert net.told("parent")[-1] == Live(pubend=7, is_on=False)
    net.relay.child_up("b")
    assert net.told("parent") == []
    net.child("b", FilterRequest(pubend=7, epoch=1, predicate=EVERYTHING))
    assert net.told("parent")[-1] == Live(pubend=7, is_on=True)


def test_another_parent_is_told_that_no_child_wants_new_messages() -> None:
    net = Told()
    for port in "ab":
        net.child(port, Live(pubend=7, is_on=False))
    net.relay.parent_down()
    net.relay.parent_up("other")
    assert net.told("other")[-1] == Live(pubend=7, is_on=False)


def test_what_is_known_is_said_behind_a_query() -> None:
    net = Told()
    for _ in range(3):
        net.publish(now=0)
    net.parent(Run(7, 3, 9, []), now=1)
    net.told("a")
    query = CongestionQuery(pubend=7, seq=1, newest=8)
    net.parent(query, now=1)
    first, silence = net.told("a")
    assert first == query
    assert (silence.start, silence.stop, silence.items) == (3, 9, [])
