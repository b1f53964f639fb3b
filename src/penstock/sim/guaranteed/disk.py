"""A simulated disk, which outlives the crashes of its broker.

What arrives while a sync is under way goes into the next one. A crash loses what is not synced, or
keeps a beginning of it: what a broker has not been told of may still be there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from penstock.guaranteed.log_record import (
    Fetched,
    LogGap,
    LogRecord,
    LogSegment,
    LogSnapshot,
    RecoveredLog,
)
from penstock.kernel.instant import Duration
from penstock.kernel.machine import Append, Fetch, Save, Trim
from penstock.sim.events import EventQueue
from penstock.wire.frames.guaranteed.base import GapReason


class SimLog:
    """The synced records of one log."""

    def __init__(self) -> None:
        self.records: Final[list[LogRecord]] = []
        # All that was ever synced, for checkers.
        self.history: Final[list[LogRecord]] = []
        self._ticks: Final[list[int]] = []
        self.next_number = 1
        self.lease = 0
        self.trimmed_upto = 0
        self._trimmed_messages = 0
        self._snapshot: bytes | None = None
        self._since_snapshot = 0

    def write(self, append: Append) -> None:
        """Takes one append."""
        self.lease = max(self.lease, append.lease)
        if append.record is None:
            return
        assert append.number == self.next_number, f"{append.number}, not {self.next_number}"
        self.next_number += 1
        if isinstance(append.record, LogSnapshot):
            self._snapshot, self._since_snapshot = append.record.state, len(self.records)
        else:
            assert isinstance(append.record, LogRecord)
            assert not self._ticks or append.record.tick > self._ticks[-1], "ticks rise"
            self.records.append(append.record)
            self.history.append(append.record)
            self._ticks.append(append.record.tick)

    def trim(self, upto: int) -> None:
        """Forgets the oldest records."""
        at = bisect_left(self._ticks, upto + 1)
        self._trimmed_messages += at
        del self.records[:at], self._ticks[:at]
        self._since_snapshot = max(0, self._since_snapshot - at)
        self.trimmed_upto = max(self.trimmed_upto, upto)

    def fetch(self, fetch: Fetch) -> Fetched:
        """Reads a slice, as a log on disk does."""
        gaps: tuple[LogGap, ...] = ()
        if fetch.start <= self.trimmed_upto:
            stop = min(fetch.stop, self.trimmed_upto + 1)
            gap = LogGap(fetch.start, stop, GapReason.RETENTION, self._trimmed_messages)
            gaps = (gap,)
        first = bisect_left(self._ticks, fetch.start)
        last, size_bytes = first, 0
        while last < len(self.records) and self._ticks[last] < fetch.stop:
            if size_bytes >= fetch.bytes_max:
                break
            size_bytes += len(self.records[last].body)
            last += 1
        # Up to the next record there is nothing.
        stop = self._ticks[last] if last < len(self._ticks) else 2**63
        return Fetched(tuple(self.records[first:last]), gaps, stop)

    def recovered(self) -> RecoveredLog:
        """What a broker finds when it starts."""
        segments: tuple[LogSegment, ...] = ()
        if self.records:
            size_bytes = sum(len(record.body) + 40 for record in self.records)
            last = self.records[-1]
            segments = (LogSegment(last.tick, last.published_ns, size_bytes, len(self.records)),)
        return RecoveredLog(
            lease=self.lease,
            next_number=self.next_number,
            last_tick=self._ticks[-1] if self._ticks else 0,
            trimmed_upto=self.trimmed_upto,
            snapshot=self._snapshot,
            since_snapshot=tuple(self.records[self._since_snapshot :]),
            segments=segments,
        )


class _Write(msgspec.Struct, frozen=True):
    """One write that waits for a sync; `told` is called when it is synced."""

    output: Append | Save
    told: Callable[[], None]


class SimDisk:
    """The disk of one broker."""

    def __init__(self, events: EventQueue, rng: Random, *, sync_ns: Duration) -> None:
        self.logs: Final[dict[str, SimLog]] = {}
        self.saved: Final[dict[str, bytes]] = {}
        # A log rolls after so many records.
        self.roll_records = 64
        self._events: Final = events
        self._rng: Final = rng
        self._sync_ns: Final = sync_ns
        self._waiting: list[_Write] = []
        self._syncing: list[_Write] = []
        self._life = 0

    def take(
        self,
        output: Append | Fetch | Trim | Save,
        *,
        told: Callable[..., None],
    ) -> None:
        """Takes an output of the broker; `told` gets the answer, if it is still alive."""
        if isinstance(output, Trim):
            self.logs[output.log].trim(output.upto)
        elif isinstance(output, Fetch):
            life = self._life
            at = self._events.now + self._rng.randint(1, self._sync_ns)
            self._events.schedule(at, self._fetch, life, output, told)
        else:
            self._waiting.append(_Write(output, told))
            if not self._syncing:
                self._sync()

    def delete_log(self, log: str) -> None:
        """Its directory is removed, with what was about to be written."""
        self.logs.pop(log, None)
        self._waiting = [write for write in self._waiting if not _is_of(write.output, log)]
        self._syncing = [write for write in self._syncing if not _is_of(write.output, log)]

    def crash(self) -> None:
        """The broker is gone: of what is not synced, a beginning may be on disk."""
        self._life += 1
        pending = self._syncing + self._waiting
        kept = self._rng.randint(0, len(pending)) if self._rng.random() < 0.5 else 0
        for write in pending[:kept]:
            self._apply(write.output)
        self._syncing, self._waiting = [], []

    def _sync(self) -> None:
        self._syncing, self._waiting = self._waiting, []
        at = self._events.now + self._rng.randint(1, self._sync_ns)
        self._events.schedule(at, self._synced, self._life)

    def _synced(self, life: int) -> None:
        if life != self._life:
            return
        done, self._syncing = self._syncing, []
        for write in done:
            self._apply(write.output)
        if self._waiting:
            self._sync()
        for write in done:
            # Whoever is told may crash the broker.
            if life == self._life:
                write.told()

    def _apply(self, output: Append | Save) -> None:
        if isinstance(output, Append):
            self.logs.setdefault(output.log, SimLog()).write(output)
        elif output.value is None:
            self.saved.pop(output.key, None)
        else:
            self.saved[output.key] = output.value

    def _fetch(self, life: int, output: Fetch, told: Callable[[Fetched], None]) -> None:
        if life == self._life:
            told(self.logs.setdefault(output.log, SimLog()).fetch(output))


def _is_of(output: Append | Save, log: str) -> bool:
    return isinstance(output, Append) and output.log == log
