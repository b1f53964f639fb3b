"""Repairs from the log: what was asked for is read in slices and answered in order.

One fetch is under way for each reader (and one for all requests without a reader), the next when
the answers have left: a repair never fills memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import Fetched, LogGap, LogRecord
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import PubendSettings
from penstock.guaranteed.stream_item import EVERYTHING, StreamItem
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.guaranteed.base import TICK_MAX, BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest


class _Request:
    """What one reader, or everybody else, still waits for."""

    __slots__ = ("is_fetching", "predicate", "ranges")

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self.ranges: Final = IntervalSet()
        self.is_fetching = False


class Repairs:
    """Of one pubend; `answer` takes frames for the relay, `horizon` is the first undecided tick."""

    def __init__(
        self,
        pubend: int,
        log: str,
        *,
        disk: Disk,
        settings: PubendSettings,
        answer: Callable[[BrokerFrame | Run], None],
        may_answer: Callable[[ReaderId | None], bool],
        horizon: Callable[[Instant], int],
        last_tick: Callable[[], int],
        on_read: Callable[[Fetched], None],
    ) -> None:
        self._pubend: Final = pubend
        self._log: Final = log
        self._disk: Final = disk
        self._settings: Final = settings
        self._answer: Final = answer
        self._may_answer: Final = may_answer
        self._horizon: Final = horizon
        # Of the newest message, on disk or not.
        self._last_tick: Final = last_tick
        self._on_read: Final = on_read
        self._readers: Final[BoundedDict[ReaderId, _Request]] = BoundedDict(settings.readers_max)
        self._shared: Final = _Request(EVERYTHING)
        # Whether any request waits for room.
        self.is_held_up = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to answer."""
        return not self._shared.ranges and not any(r.ranges for r in self._readers.values())

    @property
    def ranges(self) -> int:
        """The most ranges that anybody waits for."""
        requests = [self._shared, *self._readers.values()]
        return max(len(request.ranges) for request in requests)

    def __len__(self) -> int:
        return len(self._readers)

    def on_reader(self, frame: ReaderRequest) -> None:
        """Registers or closes a reader."""
        if frame.predicate is None:
            self._readers.pop(frame.reader, None)
        else:
            # Ranges that the old predicate was asked for are asked for again by the reader.
            self._readers[frame.reader] = _Request(frame.predicate)

    def on_nack(self, frame: Nack, *, now: Instant) -> None:
        """Takes a request; one of an unknown reader is answered by closing it."""
        request = self._request_of(frame.reader)
        if request is None:
            assert frame.reader is not None
            self._answer(ReaderRequest(pubend=self._pubend, reader=frame.reader, predicate=None))
            return
        horizon = self._horizon(now)
        for start, stop in frame.ranges:
            if start < min(stop, horizon):
                request.ranges.add(start, min(stop, horizon))
        while len(request.ranges) > self._settings.repair_ranges_max:
            # Only the oldest gap counts: what lies far ahead is asked for again.
            *_, (last_start, last_stop) = request.ranges
            request.ranges.remove(last_start, last_stop)
        self._fetch(frame.reader, request, now)

    def proceed(self, *, now: Instant) -> None:
        """Goes on where answers have left."""
        self.is_held_up = False
        self._fetch(None, self._shared, now)
        for reader, request in list(self._readers.items()):
            self._fetch(reader, request, now)

    def _request_of(self, reader: ReaderId | None) -> _Request | None:
        return self._shared if reader is None else self._readers.get(reader)

    def _fetch(self, reader: ReaderId | None, request: _Request, now: Instant) -> None:
        if request.is_fetching or not request.ranges:
            return
        if not self._may_answer(reader):
            self.is_held_up = True
            return
        start, stop = next(iter(request.ranges))
        while start > self._last_tick():
            # Behind the newest message nothing needs to be read: else a reader that begins long
            # before the first one would go there step by step.
            self._tell(reader, request, start, stop, Fetched((), (), TICK_MAX), now)
            if not request.ranges:
                return
            start, stop = next(iter(request.ranges))
        request.is_fetching = True

        def fetched(result: Fetched, now: Instant) -> None:
            request.is_fetching = False
            self._on_read(result)
            if self._request_of(reader) is request:
                self._tell(reader, request, start, stop, result, now)
                self._fetch(reader, request, now)

        self._disk.fetch(
            self._log, start, stop, bytes_max=self._settings.repair_slice_bytes, then=fetched
        )

    def _tell(
        self,
        reader: ReaderId | None,
        request: _Request,
        start: int,
        asked_stop: int,
        result: Fetched,
        now: Instant,
    ) -> None:
        """Answers up to where the log has read; nothing is said beyond the horizon."""
        # Without a reader others get it too, who may not have asked: no more than was asked for.
        limit = self._horizon(now) if reader is not None else asked_stop
        stop = min(result.stop, limit)
        if reader is not None and result.gaps:
            # One gap is told once, however little of it was asked for.
            stop = max(stop, min(result.gaps[-1].stop, limit))
        assert start < stop, f"a fetch from {start} got nowhere: {result.stop}, {limit}"
        wanted = [
            item
            for record in result.records
            if start <= record.tick < stop and (item := _item(record)).matches(request.predicate)
        ]
        run = Run(self._pubend, start, stop, wanted, reader)
        said = start
        for gap in result.gaps:
            said = self._tell_gap(run, gap, said)
        self._tell_run(run, said, stop)
        request.ranges.remove(start, stop)

    def _tell_run(self, run: Run, start: int, stop: int) -> None:
        if start < stop:
            items = run.items_between(start, stop)
            self._answer(Run(self._pubend, start, stop, items, run.reader))

    def _tell_gap(self, run: Run, gap: LogGap, said: int) -> int:
        """Below the trim point and for damage it is a gap, never silence."""
        gap_start, gap_stop = max(gap.start, said), min(gap.stop, run.stop)
        if gap_start >= gap_stop:
            return said
        self._tell_run(run, said, gap_start)
        self._answer(
            Gap(
                pubend=self._pubend,
                start=gap_start,
                stop=gap_stop,
                reason=gap.reason,
                messages=gap.messages,
                reader=run.reader,
            )
        )
        return gap_stop


def _item(record: LogRecord) -> StreamItem:
    return StreamItem(record.tick, record.published_ns, record.body)
