"""Repairs from the log: what is read, what needs no reading, and who waits for whom."""

from __future__ import annotations

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import Fetched, LogGap, LogRecord
from penstock.guaranteed.pubend.repair import Repairs
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import PubendSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.machine import Fetch
from penstock.wire.frames.guaranteed.base import BrokerFrame, GapReason, ReaderId, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest

PUBEND = 7
READER = ReaderId("host", 1)
HORIZON = 10_000
NEWEST = 5_000


class Repairing:
    """Repairs of a pubend whose newest message is at `NEWEST`, and what they answer."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.said: list[BrokerFrame | Run] = []
        self.has_room = True
        self.repairs = Repairs(
            PUBEND,
            "log",
            disk=self.disk,
            settings=PubendSettings(),
            answer=self.said.append,
            may_answer=lambda _reader: self.has_room,
            horizon=lambda _now: HORIZON,
            last_tick=lambda: NEWEST,
            on_read=lambda _result: None,
        )
        request = ReaderRequest(pubend=PUBEND, reader=READER, predicate=EVERYTHING)
        self.repairs.on_reader(request)

    def ask(self, *ranges: tuple[int, int], reader: ReaderId | None = READER) -> None:
        asked = tuple(TickRange(*each) for each in ranges)
        self.repairs.on_nack(Nack(pubend=PUBEND, ranges=asked, reader=reader), now=0)

    def fetches(self) -> list[Fetch]:
        return [output for output in self.disk.outputs if isinstance(output, Fetch)]


def record(tick: int) -> LogRecord:
    return LogRecord(tick, tick, "publisher", tick, b"\0\1\x80")


def test_behind_the_newest_message_all_is_silence_and_nothing_is_read() -> None:
    repairing = Repairing()
    repairing.ask((NEWEST + 1, NEWEST + 10))
    assert repairing.said == [Run(PUBEND, NEWEST + 1, HORIZON, [], READER)]
    assert not repairing.fetches()
    assert repairing.repairs.is_idle


def test_who_did_not_name_a_reader_is_told_no_more_than_was_asked_for() -> None:
    repairing = Repairing()
    repairing.ask((6_000, 6_010), (7_000, 7_010), reader=None)
    assert repairing.said == [
        Run(PUBEND, 6_000, 6_010, [], None),
        Run(PUBEND, 7_000, 7_010, [], None),
    ]
    assert repairing.repairs.is_idle


def test_a_gap_stands_between_the_messages_around_it() -> None:
    repairing = Repairing()
    repairing.ask((100, 200))
    (fetch,) = repairing.fetches()
    gap = LogGap(120, 140, GapReason.DAMAGED, 3)
    found = Fetched((record(110), record(150)), (gap,), 200)
    repairing.disk.fetched(fetch.request, found, 0)
    before, between, behind = repairing.said
    assert isinstance(before, Run)
    assert isinstance(between, Gap)
    assert isinstance(behind, Run)
    assert (before.start, before.stop, [i.tick for i in before.items]) == (100, 120, [110])
    assert (between.start, between.stop, between.messages) == (120, 140, 3)
    assert (behind.start, behind.stop, [i.tick for i in behind.items]) == (140, 200, [150])


def test_a_request_waits_for_room_and_then_goes_on() -> None:
    repairing = Repairing()
    repairing.has_room = False
    repairing.ask((100, 200))
    assert not repairing.fetches()
    repairing.has_room = True
    repairing.repairs.proceed(now=0)
    assert len(repairing.fetches()) == 1
