"""What a relay asks its parent for, and what it grants its children."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import EVERYTHING, NOTHING, StreamItem
from penstock.guaranteed.tick import tick_of
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import BrokerFrame, GapReason, ReaderId, Serial, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Held

SOME = parse("k = 1")
MINUTE = tick_of(60_000)


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
    """A relay, and two hosts that want three quarters of what it gets, each others of them."""

    def __init__(self, *, is_far: bool = True) -> None:
        self.sent: list[tuple[str, BrokerFrame | Run]] = []
        self.relay = Relay(
            1, settings=RelaySettings(), send=lambda port, frame: self.sent.append((port, frame))
        )
        self.readers = {port: ReaderId(port.upper(), 5) for port in ("a", "b")}
        self.relay.parent_up("parent", is_far=is_far)
        for port, predicate in (("a", parse("k < 3")), ("b", parse("k > 0"))):
            self.relay.child_up(port)
            self.relay.receive_from_child(port, request(1, predicate), now=0)
            register = ReaderRequest(pubend=1, reader=self.readers[port], predicate=predicate)
            self.relay.receive_from_child(port, register, now=0)
        self.grant(2)
        # Each has been answered once, in its own name.
        for port, reader in self.readers.items():
            self.ask(port, 0, 50)
            self.answer(0, 50, reader=reader)
        self.sent.clear()

    def grant(self, epoch: int) -> None:
        self.relay.receive_from_parent(FilterAck(pubend=1, epoch=epoch, tick=MINUTE), now=0)

    def ask(self, port: str, start: int, stop: int, *, now: int = 0) -> None:
        ranges = (TickRange(start, stop),)
        nack = Nack(pubend=1, ranges=ranges, reader=self.readers[port])
        self.relay.receive_from_child(port, nack, now=now)

    def asked(self) -> list[tuple[ReaderId | None, int, int]]:
        return [
            (frame.reader, *each)
            for to, frame in self.sent
            if to == "parent" and isinstance(frame, Nack)
            for each in frame.ranges
        ]

    def answer(self, start: int, stop: int, *ticks: int, reader: ReaderId | None = None) -> None:
        """Messages at ticks; the last digit is what readers look at."""
        items = [StreamItem(tick, 0, write_body({"k": tick % 10})) for tick in ticks]
        self.relay.receive_from_parent(Run(1, start, stop, items, reader), now=0)

    def got(self, port: str) -> list[tuple[int, int, list[int]]]:
        runs = [frame for to, frame in self.sent if to == port and isinstance(frame, Run)]
        assert all(run.reader in (None, self.readers[port]) for run in runs)
        return [(r.start, r.stop, [item.tick for item in r.items]) for r in runs if r.reader]


def test_what_several_hosts_have_missed_is_asked_for_once() -> None:
    """Else none of many hosts behind a link would catch up that carries twice what is published."""
    shared = Shared()
    shared.ask("a", 100, 200)
    shared.ask("b", 150, 250)
    assert shared.asked() == [(None, 100, 200), (None, 200, 250)]
    shared.answer(100, 180, 150, 161, 172)
    shared.answer(180, 250, 183, 242)
    assert shared.got("a") == [(100, 180, [150, 161, 172]), (180, 200, [])]
    assert shared.got("b") == [(150, 180, [161, 172]), (180, 250, [183, 242])]
    # Whoever asks later is answered from the cache.
    shared.ask("a", 200, 250)
    assert shared.got("a")[-1] == (200, 250, [242])
    assert len(shared.asked()) == 2
    assert shared.relay.is_idle


def test_a_gap_is_told_to_all_that_wait_for_it() -> None:
    shared = Shared()
    shared.ask("b", 100, 200)
    shared.ask("a", 150, 200)
    gap = Gap(pubend=1, start=100, stop=180, reason=GapReason.RETENTION, messages=5)
    shared.relay.receive_from_parent(gap, now=0)
    told = [(to, f.reader, f.start, f.stop) for to, f in shared.sent if isinstance(f, Gap)]
    a, b = shared.readers.values()
    assert told == [("b", b, 100, 180), ("a", a, 150, 180)]
    shared.answer(180, 200)
    assert shared.relay.is_idle


def test_a_host_that_leaves_does_not_keep_another_waiting() -> None:
    shared = Shared()
    shared.ask("a", 100, 200)
    shared.ask("b", 100, 200)
    shared.relay.child_down("a")
    shared.answer(100, 200, 152)
    assert shared.got("b") == [(100, 200, [152])]
    shared.grant(3)
    assert shared.relay.is_idle
    assert dict(shared.relay.table_sizes())["readers that ask"] == 1
    # And it is alone again.
    shared.ask("b", 300, 400)
    assert shared.asked()[-1] == (shared.readers["b"], 300, 400)


def test_silence_under_a_filter_that_has_become_narrower_is_not_told_to_readers() -> None:
    shared = Shared()
    shared.ask("a", 100, 200)
    shared.relay.receive_from_child("a", request(2, NOTHING), now=0)
    shared.grant(3)
    shared.answer(100, 200)
    assert shared.got("a") == []
    # It asks again.
    shared.ask("a", 100, 200)
    assert shared.asked()[-1] == (shared.readers["a"], 100, 200)


def test_behind_the_horizon_and_where_the_stream_is_stored_each_asks_for_itself() -> None:
    beyond, here = Shared(), Shared(is_far=False)
    for shared, at in ((beyond, MINUTE - 50), (here, 100)):
        for port in ("a", "b"):
            shared.ask(port, at, at + 100)
        asked = dict.fromkeys(reader for reader, _, _ in shared.asked())
        assert [*asked] == [*shared.readers.values()]


def test_after_some_silence_each_asks_for_itself() -> None:
    """Found by the swarm: who begins in 1970 would go through all silence range by range."""
    shared = Shared()
    second = tick_of(1_000)
    shared.ask("a", 100, 100 + second)
    assert shared.asked()[-1] == (None, 100, 100 + second)
    shared.answer(100, 100 + second)
    shared.ask("a", 100 + second, 200 + second)
    a = shared.readers["a"]
    assert shared.asked()[-1] == (a, 100 + second, 200 + second)
    shared.answer(100 + second, 20 * second + 2, 20 * second + 1, reader=a)
    shared.ask("a", 20 * second + 2, 21 * second)
    assert shared.asked()[-1] == (None, 20 * second + 2, 21 * second)
