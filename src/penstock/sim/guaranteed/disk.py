"""A simulated disk, which outlives the crashes of its broker.

Each log is a file, and what is saved is another: they are synced independently. What arrives while
a sync of a file is under way goes into the next one. A crash loses what is not synced, or keeps a
beginning of it: what a broker has not been told of may still be there.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from penstock.guaranteed.log_record import (
    Counted,
    Fetched,
    LogGap,
    LogRecord,
    LogSegment,
    LogSnapshot,
    RecoveredLog,
)
from penstock.guaranteed.pubend.retention import RECORD_BYTES
from penstock.kernel.instant import Duration
from penstock.kernel.machine import Append, Count, Fetch, Save, Trim
from penstock.sim.events import EventQueue
from penstock.wire.frames.guaranteed.base import GapReason

# A start finds the log in stretches of so many records.
SEGMENT_RECORDS: Final = 16
# The file of what is saved; no log is called so.
STORE: Final = "store"


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
        # Kept although they may be trimmed: a log on disk gives up whole segments, and each begins
        # with a snapshot.
        self._since_snapshot: Final[list[LogRecord]] = []

    def write(self, append: Append) -> None:
        """Takes one append."""
        self.lease = max(self.lease, append.lease)
        for record in append.records:
            self.next_number += 1
            if isinstance(record, LogSnapshot):
                self._snapshot = record.state
                self._since_snapshot.clear()
                continue
            assert isinstance(record, LogRecord)
            assert not self._ticks or record.tick > self._ticks[-1], "ticks rise"
            self.records.append(record)
            self.history.append(record)
            self._since_snapshot.append(record)
            self._ticks.append(record.tick)
        assert append.upto == self.next_number - 1, f"{append.upto}, not {self.next_number - 1}"

    def trim(self, upto: int) -> None:
        """Forgets the oldest records."""
        at = bisect_left(self._ticks, upto + 1)
        self._trimmed_messages += at
        del self.records[:at], self._ticks[:at]
        self.trimmed_upto = max(self.trimmed_upto, upto)

    def fetch(self, fetch: Fetch) -> Fetched:
        """Reads a slice, as a log on disk does."""
        gaps: tuple[LogGap, ...] = ()
        if fetch.start <= self.trimmed_upto:
            # All of it: the answer goes on up to the next record, whatever was asked for.
            stop = self.trimmed_upto + 1
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

    def count(self, count: Count) -> Counted:
        """Messages between two ticks, and the age of the oldest."""
        first = bisect_left(self._ticks, count.after + 1)
        messages = bisect_left(self._ticks, count.upto + 1) - first
        return Counted(messages, self.records[first].published_ns if messages > 0 else 0)

    def recovered(self) -> RecoveredLog:
        """What a broker finds when it starts."""
        return RecoveredLog(
            lease=self.lease,
            next_number=self.next_number,
            last_tick=self._ticks[-1] if self._ticks else 0,
            trimmed_upto=self.trimmed_upto,
            snapshot=self._snapshot,
            since_snapshot=tuple(self._since_snapshot),
            segments=tuple(
                _segment(self.records[at : at + SEGMENT_RECORDS])
                for at in range(0, len(self.records), SEGMENT_RECORDS)
            ),
        )


def _segment(records: list[LogRecord]) -> LogSegment:
    size_bytes = sum(len(record.body) + RECORD_BYTES for record in records)
    last = records[-1]
    return LogSegment(last.tick, last.published_ns, size_bytes, len(records))


class _Write(msgspec.Struct, frozen=True):
    """One write that waits for a sync; `told` is called when it is synced."""

    output: Append | Save
    told: Callable[[], None]


class DiskBackup(msgspec.Struct, frozen=True):
    """What a disk held at some time."""

    logs: dict[str, SimLog]
    saved: dict[str, bytes]


class _File:
    """Writes to one file, in order: those that wait, and those in the sync that is under way."""

    def __init__(self) -> None:
        self.waiting: list[_Write] = []
        self.syncing: list[_Write] = []


class SimDisk:
    """The disk of one broker: a file for each log and one for all that is saved."""

    def __init__(
        self,
        events: EventQueue,
        rng: Random,
        *,
        sync_ns: Duration,
        watch: Callable[[Append | Save | Trim], None] = lambda _output: None,
    ) -> None:
        self.logs: Final[dict[str, SimLog]] = {}
        self.saved: Final[dict[str, bytes]] = {}
        # For checkers, by log: all records of deleted ones, and what a restored copy did not have.
        self.deleted: Final[dict[str, list[LogRecord]]] = {}
        self.lost: Final[dict[str, list[LogRecord]]] = {}
        # A log rolls after so many records.
        self.roll_records = 64
        self._events: Final = events
        self._rng: Final = rng
        self._sync_ns: Final = sync_ns
        self._watch: Final = watch
        self._files: Final[dict[str, _File]] = {}
        self._life = 0

    def take(
        self,
        output: Append | Fetch | Count | Trim | Save,
        *,
        told: Callable[..., None],
    ) -> None:
        """Takes an output of the broker; `told` gets the answer, if it is still alive."""
        if isinstance(output, Trim):
            self._watch(output)
            self.logs[output.log].trim(output.upto)
        elif isinstance(output, Fetch | Count):
            life = self._life
            at = self._events.now + self._rng.randint(1, self._sync_ns)
            self._events.schedule(at, self._read, life, output, told)
        else:
            name = output.log if isinstance(output, Append) else STORE
            file = self._files.setdefault(name, _File())
            file.waiting.append(_Write(output, told))
            if not file.syncing:
                self._sync(file)

    def delete_log(self, log: str) -> None:
        """Its directory is removed, with what was about to be written."""
        deleted = self.logs.pop(log, None)
        if deleted is not None:
            self.deleted[log] = deleted.history
        file = self._files.pop(log, None)
        if file is not None:
            file.waiting.clear()
            file.syncing.clear()

    def crash(self) -> None:
        """Power is cut: of what is not synced, a beginning may be there, in each file another."""
        self._life += 1
        for file in self._files.values():
            pending = file.syncing + file.waiting
            kept = self._rng.randint(0, len(pending)) if self._rng.random() < 0.5 else 0
            for write in pending[:kept]:
                self._apply(write.output)
        self._files.clear()

    def _sync(self, file: _File) -> None:
        file.syncing, file.waiting = file.waiting, []
        at = self._events.now + self._rng.randint(1, self._sync_ns)
        self._events.schedule(at, self._synced, self._life, file)

    def _synced(self, life: int, file: _File) -> None:
        if life != self._life:
            return
        done, file.syncing = file.syncing, []
        for write in done:
            self._apply(write.output)
        if file.waiting:
            self._sync(file)
        for write in done:
            # Whoever is told may crash the broker.
            if life == self._life:
                write.told()

    def backup(self) -> DiskBackup:
        """A copy of all that is synced."""
        return DiskBackup(copy.deepcopy(self.logs), dict(self.saved))

    def restore(self, backup: DiskBackup) -> None:
        """Puts an older copy back, while the broker is down."""
        for name, log in self.logs.items():
            kept = len(backup.logs[name].history) if name in backup.logs else 0
            self.lost.setdefault(name, []).extend(log.history[kept:])
        self.logs.clear()
        self.logs.update(copy.deepcopy(backup.logs))
        self.saved.clear()
        self.saved.update(backup.saved)

    def _apply(self, output: Append | Save) -> None:
        self._watch(output)
        if isinstance(output, Append):
            self.logs.setdefault(output.log, SimLog()).write(output)
        elif output.value is None:
            self.saved.pop(output.key, None)
        else:
            self.saved[output.key] = output.value

    def _read(
        self, life: int, output: Fetch | Count, told: Callable[[Fetched | Counted], None]
    ) -> None:
        if life == self._life:
            log = self.logs.setdefault(output.log, SimLog())
            told(log.fetch(output) if isinstance(output, Fetch) else log.count(output))
