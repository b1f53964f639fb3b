"""What a relay asks its parent for, and what it grants its children."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import EVERYTHING, NOTHING, StreamItem
from penstock.kernel.instant import SECOND
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId, Serial, TickRange
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Held

SOME = parse("k = 1")


def request(epoch: int, predicate: Predicate) -> FilterRequest:
    return FilterRequest(pubend=1, epoch=epoch, predicate=predicate)


def test_a_filter_waits_while_a_narrower_one_is_on_its_way_to_the_parent() -> None:
    """Between the two answers of the parent, what the child wants is silence."""
    sent: list[tuple[str, BrokerFrame | Run]] = []
    relay = Relay(1, settings=RelaySettings(), send=lambda port, frame: sent.append((port, frame)))

    def granted(port: str) -> list[int]:
        return [f.epoch for to, f in sent if to == port and isinstance(f, FilterAck)]

    relay.child_up("wide")
    relay.child_up("narrow")
    relay.parent_up("parent")
    relay.receive_from_child("wide", request(1, EVERYTHING), now=0)
    relay.receive_from_parent(FilterAck(pubend=1, epoch=1, tick=100), now=0)
    relay.receive_from_child("narrow", request(1, SOME), now=0)
    # The one goes away: the parent is asked for less at once.
    relay.receive_from_child("wide", request(2, NOTHING), now=0)
    assert granted("wide") == [1, 2]
    relay.receive_from_child("wide", request(3, EVERYTHING), now=0)
    asked = [f.epoch for to, f in sent if to == "parent" and isinstance(f, FilterRequest)]
    assert asked == [1, 2, 3]
    assert granted("wide") == [1, 2]
    relay.receive_from_parent(FilterAck(pubend=1, epoch=2, tick=200), now=0)
    assert granted("wide") == [1, 2]
    relay.receive_from_parent(FilterAck(pubend=1, epoch=3, tick=300), now=0)
    assert granted("wide") == [1, 2, 3]
    assert [f.tick for to, f in sent if to == "wide" and isinstance(f, FilterAck)][-1] == 300


def test_a_parent_is_asked_for_nothing_when_the_last_child_wants_nothing_more() -> None:
    asked: list[Predicate] = []

    def send(port: str, frame: BrokerFrame | Run) -> None:
        if port == "parent" and isinstance(frame, FilterRequest):
            asked.append(frame.predicate)

    relay = Relay(1, settings=RelaySettings(), send=send)
    relay.child_up("child")
    relay.parent_up("parent")
    relay.receive_from_child("child", request(1, EVERYTHING), now=0)
    relay.receive_from_parent(FilterAck(pubend=1, epoch=1, tick=100), now=0)
    relay.receive_from_child("child", request(2, NOTHING), now=0)
    assert asked == [EVERYTHING, NOTHING]


def test_where_a_host_was_told_to_begin_has_been_said_whatever_was_lost_on_the_way() -> None:
    """Else a host that comes back would take its own cursor for one of a restored log."""
    relay = Relay(1, settings=RelaySettings(), send=lambda _port, _frame: None)
    relay.parent_up("parent")
    held = Held(pubend=1, host="s", serial=Serial(1, 1), tick=500, other_host="")
    relay.receive_from_parent(held, now=0)
    assert relay.passed == 501


def test_filters_on_their_way_to_the_parent_are_few_and_the_last_one_is_granted() -> None:
    """Found by the swarm: a host that came and went had one asked for each time."""
    sent: list[tuple[str, BrokerFrame | Run]] = []
    relay = Relay(1, settings=RelaySettings(), send=lambda port, frame: sent.append((port, frame)))

    def asked() -> list[FilterRequest]:
        return [f for to, f in sent if to == "parent" and isinstance(f, FilterRequest)]

    relay.child_up("child")
    relay.parent_up("parent")
    for epoch in range(1, 20):
        relay.receive_from_child("child", request(epoch, parse(f"k = {epoch}")), now=0)
    assert len(asked()) == 4
    answered = 0
    while answered < asked()[-1].epoch:
        answered = asked()[-1].epoch
        relay.receive_from_parent(FilterAck(pubend=1, epoch=answered, tick=100), now=0)
    assert asked()[-1].predicate == parse("k = 19")
    assert [f.epoch for to, f in sent if to == "child" and isinstance(f, FilterAck)][-1] == 19


class Shared:
    """A relay, and two hosts that want all that it gets."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, BrokerFrame | Run]] = []
        self.relay = Relay(
            1, settings=RelaySettings(), send=lambda port, frame: self.sent.append((port, frame))
        )
        self.readers = {port: ReaderId(port.upper(), 5) for port in ("a", "b")}
        self.relay.parent_up("parent")
        for port, reader in self.readers.items():
            self.relay.child_up(port)
            self.relay.receive_from_child(port, request(1, EVERYTHING), now=0)
            register = ReaderRequest(pubend=1, reader=reader, predicate=EVERYTHING)
            self.relay.receive_from_child(port, register, now=0)
        self.relay.receive_from_parent(FilterAck(pubend=1, epoch=1, tick=1_000), now=0)

    def ask(self, port: str, start: int, stop: int, *, now: int = 0) -> None:
        ranges = (TickRange(start, stop),)
        nack = Nack(pubend=1, ranges=ranges, reader=self.readers[port])
        self.relay.receive_from_child(port, nack, now=now)

    def asked(self) -> list[tuple[ReaderId | None, tuple[TickRange, ...]]]:
        return [
            (f.reader, f.ranges) for to, f in self.sent if to == "parent" if isinstance(f, Nack)
        ]

    def answer(self, reader: ReaderId, start: int, stop: int, *ticks: int) -> None:
        items = [StreamItem(tick, 0, b"") for tick in ticks]
        self.relay.receive_from_parent(Run(1, start, stop, items, reader), now=0)

    def got(self, port: str) -> list[tuple[ReaderId | None, int, int, int]]:
        runs = [frame for to, frame in self.sent if to == port and isinstance(frame, Run)]
        return [(run.reader, run.start, run.stop, len(run.items)) for run in runs if run.reader]


def test_what_several_hosts_have_missed_is_asked_for_once() -> None:
    """Else none of many hosts behind a link would catch up that carries twice what is published."""
    shared = Shared()
    a, b = shared.readers.values()
    shared.ask("a", 100, 200)
    shared.ask("b", 150, 250)
    assert shared.asked() == [(a, (TickRange(100, 200),)), (b, (TickRange(200, 250),))]
    shared.answer(a, 100, 180, 179)
    # It may say more than was asked for.
    shared.answer(a, 180, 230, 229)
    shared.answer(b, 230, 250)
    assert shared.got("a") == [(a, 100, 180, 1), (a, 180, 230, 1)]
    assert shared.got("b") == [(b, 150, 180, 1), (b, 180, 230, 1), (b, 230, 250, 0)]
    # Whoever asks later is answered from the cache.
    shared.ask("a", 230, 250)
    assert shared.got("a")[-1] == (a, 230, 250, 0)
    assert len(shared.asked()) == 2
    assert shared.relay.is_idle


def test_a_host_that_leaves_does_not_keep_another_waiting() -> None:
    shared = Shared()
    a, b = shared.readers.values()
    shared.ask("a", 100, 200)
    shared.ask("b", 100, 200)
    assert shared.asked() == [(a, (TickRange(100, 200),))]
    shared.relay.child_down("a")
    shared.ask("b", 100, 200, now=SECOND)
    assert shared.asked()[1:] == [(b, (TickRange(100, 200),))]
    shared.answer(b, 100, 200, 150)
    assert shared.got("b") == [(b, 100, 200, 1)]
    assert shared.relay.is_idle


def test_of_an_answer_that_says_more_only_what_was_asked_for_is_kept() -> None:
    """Found by the swarm: who begins in 1970 would go through kept silence range by range."""
    shared = Shared()
    a, b = shared.readers.values()
    shared.ask("a", 100, 200)
    shared.answer(a, 100, 900)
    shared.ask("b", 100, 200)
    shared.ask("b", 200, 300)
    assert shared.got("b") == [(b, 100, 200, 0)]
    assert shared.asked()[1:] == [(b, (TickRange(200, 300),))]
