"""The end of one log: what waits to be written, and where it goes.

Appends come from the thread of the driver; everything else runs in the writer's thread, but for
`prepared`, which the housekeeper hands over. A batch is what has arrived since the last one was
taken. Nothing is written into a segment before all of the one before it is synced.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from time import perf_counter_ns
from typing import Final, NamedTuple, Protocol, TypeAlias

from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.guaranteed.sync_times import SyncTimes
from penstock.live.log.block import (
    BLOCK_BYTES_MAX,
    Block,
    Entry,
    aligned,
    block_bytes,
    block_parts,
    encode_entries,
)
from penstock.live.log.file_system import FileSystem, write_all, write_parts
from penstock.live.log.index import LogIndex
from penstock.live.log.lease_file import LeaseFile
from penstock.live.log.prepared_segment import FILL_BYTES, PreparedSegment
from penstock.live.log.segment import (
    Segment,
    SegmentSizes,
    encoded_footer,
    fits,
    segment_name,
)

# So that other logs get their turn.
BATCH_RECORDS_MAX: Final = 16_384
# What is written and synced at once; also bounds the parts of a write, of which a system takes
# 1,024: two blocks have more than 64 KB together, and three parts each.
WRITE_BYTES_MAX: Final = 8 << 20
# The next segment is filled while this one is, and a little ahead of it: not at once, because the
# zeros would keep the disk from what somebody waits for.
FILL_AHEAD_BYTES: Final = 4 << 20
# A start reads all records behind the last snapshot.
SNAPSHOT_RECORDS_MAX: Final = 65_536

Appended: TypeAlias = tuple[int, Sequence[Entry], int]


class LogEvents(Protocol):
    """What a driver is told, in the writer's or the housekeeper's thread."""

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        """All appends up to this number, and the lease, are on disk."""

    def on_rolled(self, log: str) -> None:
        """A segment has begun, or much lies behind the last snapshot: it wants another one."""

    def on_full(self, log: str, is_full: bool) -> None:
        """There is no room for the next segment; or there is again."""

    def on_failed(self, error: BaseException) -> None:
        """The disk has failed: nothing is synced any more, in no log."""


class _Placed(NamedTuple):
    """A block that is written and not yet synced."""

    offset: int
    block: Block


class LogTail:
    """`wake` asks the writer to call `write`, `prepare` the housekeeper for a segment."""

    def __init__(
        self,
        name: str,
        fs: FileSystem,
        directory: str,
        index: LogIndex,
        lease_file: LeaseFile,
        *,
        next_number: int,
        lease: int,
        since_snapshot: int,
        sizes: SegmentSizes,
        sync_times: SyncTimes,
        events: LogEvents,
        wake: Callable[[Callable[[], None]], None],
        prepare: Callable[[], None],
        on_snapshot: Callable[[], None],
    ) -> None:
        self.name: Final = name
        self._fs: Final = fs
        self._directory: Final = directory
        self._index: Final = index
        self._lease_file: Final = lease_file
        self._sizes: Final = sizes
        self._sync_times: Final = sync_times
        self._events: Final = events
        self._wake: Final = wake
        self._prepare: Final = prepare
        self._on_snapshot: Final = on_snapshot
        self._pending: Final[deque[Appended]] = deque()
        # Taken from there, and not synced yet; the number of the last one, and the lease with it.
        self._taken: list[Entry] = []
        self._taken_upto = next_number - 1
        self._lease_wanted = lease
        self._is_woken = False
        self._next_number = next_number
        self._synced_upto = next_number - 1
        self._lease = lease
        self._since_snapshot = since_snapshot
        # What the last snapshot takes, and what lies behind it or since the next was asked for.
        self._snapshot_bytes = 0
        self._since_snapshot_bytes = 0
        segments = index.segments
        self._segment: Segment | None = segments[-1] if segments else None
        self._fd: int | None = None
        if self._segment is not None and not self._segment.is_sealed:
            self._fd = fs.open(f"{directory}/{self._segment.name}", write=True, synced=True)
        # The next segment, by the housekeeper: while it is being filled, and when it can be used.
        self.preparing: PreparedSegment | None = None
        self.prepared: PreparedSegment | None = None
        # The next segment has at least this size.
        self.size_wanted_bytes = sizes.after(self._segment)
        # The housekeeper is asked for more of it when this much is wanted.
        self._fill_asked_bytes = 0
        self.is_starving = False
        self._placed: Final[list[_Placed]] = []
        self._parts: Final[list[bytes]] = []
        self._cursor = 0

    def append(self, upto: int, records: Sequence[Entry], lease: int) -> None:
        """Takes records, of which the last has the number `upto`; none writes the lease alone."""
        self._pending.append((upto, records, lease))
        if not self._is_woken:
            self._is_woken = True
            self._wake(self.write)

    def unsynced_tick(self) -> int | None:
        """The tick of the oldest message that is not on disk; None if there is none."""
        pending = self._pending
        with self._index.lock:
            waiting = chain(self._taken, *(pending[place][1] for place in range(len(pending))))
            return next((entry.tick for entry in waiting if isinstance(entry, LogRecord)), None)

    @property
    def fill_wanted_bytes(self) -> int:
        """How much of the next segment should be filled with zeros by now."""
        segment, size_bytes = self._segment, self.size_wanted_bytes
        if segment is None or segment.is_sealed or self.is_starving:
            return size_bytes
        return size_bytes * segment.end // segment.size_bytes + FILL_AHEAD_BYTES

    def write(self) -> None:
        """Writes and syncs all that has arrived, as far as there is room."""
        # Before taking: whoever appends from now on wakes the writer again.
        self._is_woken = False
        if not self._take() and not self._taken:
            return
        lease = self._lease_wanted
        if self.is_starving:
            self._renew_lease(lease)
            return
        records = self._taken
        written = self._write_records(records, lease)
        if written < len(records):
            self._put_back(records[written:], lease)
            return
        if not records:
            self._write_lease(lease)
        self._lease = lease
        with self._index.lock:
            self._taken = []
        self._events.on_synced(self.name, self._taken_upto, lease)
        if self._pending and not self._is_woken:
            self._is_woken = True
            self._wake(self.write)

    def close(self) -> None:
        """Closes the file; in the writer's thread, when nothing else is to come."""
        if self._lease_file.synced_upto < self._synced_upto:
            # Damage at the end, while nobody has the log open, is then not taken for a torn tail.
            self._write_lease(self._lease)
        if self._fd is not None:
            self._fs.close(self._fd)
            self._fd = None

    def _take(self) -> bool:
        """Takes what has arrived into the batch; False if there was nothing."""
        pending, taken = self._pending, self._taken
        is_anything = False
        with self._index.lock:
            while pending and len(taken) < BATCH_RECORDS_MAX:
                upto, records, lease = pending.popleft()
                taken.extend(records)
                self._taken_upto = upto
                self._lease_wanted = max(self._lease_wanted, lease)
                is_anything = True
        assert not is_anything or self._next_number + len(taken) - 1 == self._taken_upto, (
            f"{self._taken_upto} is not the number behind {self._next_number - 1} and those between"
        )
        return is_anything

    def _put_back(self, rest: list[Entry], lease: int) -> None:
        """There is no segment for the rest: it waits, but the lease does not."""
        with self._index.lock:
            self._taken = rest
        self._renew_lease(lease)
        self.is_starving = True
        self._prepare()

    def _renew_lease(self, lease: int) -> None:
        if lease > self._lease:
            self._write_lease(lease)
            self._lease = lease
        self._events.on_synced(self.name, self._synced_upto, lease)

    def _write_lease(self, lease: int) -> None:
        start_ns = perf_counter_ns()
        self._lease_file.write(lease, self._synced_upto)
        self._sync_times.add(perf_counter_ns() - start_ns)

    def _write_records(self, records: list[Entry], lease: int) -> int:
        """Returns how many are synced."""
        encoded = encode_entries(records)
        # Where each of them ends.
        stops_bytes = list(accumulate(map(len, encoded)))
        start = start_bytes = 0
        while start < len(records):
            stop = max(start + 1, bisect_right(stops_bytes, start_bytes + BLOCK_BYTES_MAX))
            size_bytes = stops_bytes[stop - 1] - start_bytes
            if not self._place(records[start:stop], encoded[start:stop], size_bytes, lease):
                return start
            start, start_bytes = stop, start_bytes + size_bytes
        self._flush()
        return len(records)

    def _place(
        self, records: list[Entry], encoded: list[bytes], size_bytes: int, lease: int
    ) -> bool:
        """Puts a block behind the others; False if it needs a segment that is not there yet."""
        needed_bytes = block_bytes(size_bytes)
        if self._placed and self._cursor - self._placed[0].offset > WRITE_BYTES_MAX:
            self._flush()
        if not self._has_room(needed_bytes):
            self._flush()
            if not self._roll(needed_bytes):
                return False
            if self._next_number > 1:
                self._ask_for_snapshot(records)
        segment = self._segment
        assert segment is not None
        if not self._placed:
            self._cursor = segment.end
        before = self._placed[-1].block if self._placed else None
        last_tick = before.last_tick if before is not None else segment.last_tick
        published_ns = before.last_published_ns if before is not None else segment.last_published_ns
        first_tick = last_tick
        messages = [record for record in records if isinstance(record, LogRecord)]
        if messages:
            first_tick, last_tick = messages[0].tick, messages[-1].tick
            published_ns = messages[-1].published_ns
        block = Block(
            needed_bytes,
            segment.id,
            self._next_number,
            before.stop_message if before is not None else segment.stop_message,
            lease,
            self._synced_upto,
            first_tick,
            last_tick,
            published_ns,
            len(records),
            len(records) - len(messages),
        )
        self._placed.append(_Placed(self._cursor, block))
        self._parts.extend(block_parts(block, encoded))
        self._cursor += aligned(needed_bytes)
        self._next_number += len(records)
        return True

    def _has_room(self, needed_bytes: int) -> bool:
        segment = self._segment
        if segment is None or self._fd is None:
            return False
        cursor = self._cursor if self._placed else segment.end
        return segment.has_room(needed_bytes, cursor)

    def _flush(self) -> None:
        """Writes and syncs the blocks that were placed."""
        if not self._placed:
            return
        segment, fd = self._segment, self._fd
        assert segment is not None
        assert fd is not None
        start_ns = perf_counter_ns()
        # The file is opened so that this returns when all is on disk.
        write_parts(self._fs, fd, self._parts, self._placed[0].offset)
        self._sync_times.add(perf_counter_ns() - start_ns)
        has_snapshot = False
        with self._index.lock:
            for offset, block in self._placed:
                segment.add(offset, block)
                has_snapshot = has_snapshot or block.snapshots > 0
                self._since_snapshot += block.records
                self._since_snapshot_bytes += block.length_bytes
                if block.snapshots:
                    self._snapshot_bytes = block.length_bytes
                    self._since_snapshot = self._since_snapshot_bytes = 0
        self._synced_upto = segment.stop_number - 1
        self._placed.clear()
        self._parts.clear()
        if has_snapshot:
            self._on_snapshot()
        if self._since_snapshot >= SNAPSHOT_RECORDS_MAX:
            self._since_snapshot = self._since_snapshot_bytes = 0
            self._events.on_rolled(self.name)
        if self.prepared is None and self.fill_wanted_bytes >= self._fill_asked_bytes:
            self._fill_asked_bytes = self.fill_wanted_bytes + FILL_BYTES
            self._prepare()

    def _roll(self, needed_bytes: int) -> bool:
        """Begins the next segment, if there is one that is large enough."""
        old = self._segment
        prepared = self.prepared
        if prepared is None or not fits(needed_bytes, prepared.size_bytes):
            self.size_wanted_bytes = self._sizes.after(old, block_bytes=needed_bytes)
            return False
        if old is not None and self._fd is not None:
            # Should its end be damaged later, and nothing be in the next one yet.
            self._write_lease(max(self._lease, old.lease))
            self._seal(old, self._fd)
        first_number = self._next_number
        self._fs.rename(prepared.path, f"{self._directory}/{segment_name(first_number)}")
        self._fs.sync_directory(self._directory)
        segment = Segment(first_number, prepared.id, prepared.size_bytes, after=old)
        with self._index.lock:
            if old is not None and old.is_empty:
                # Too small for a block, and replaced by the rename.
                self._index.segments.pop()
            self._index.segments.append(segment)
        self._segment, self._fd = segment, prepared.fd
        self.size_wanted_bytes = self._sizes.after(segment)
        self._fill_asked_bytes = 0
        # Not before it has its name: until then the housekeeper must not begin another one.
        self.prepared = None
        self._prepare()
        return True

    def _ask_for_snapshot(self, records: list[Entry]) -> None:
        """Asks for one in a segment that begins with these records.

        Not if they have one, nor while less than its size lies behind the last one: otherwise large
        ones would fill the log, of which each begins a segment.
        """
        if any(isinstance(record, LogSnapshot) for record in records):
            return
        if self._since_snapshot_bytes >= self._snapshot_bytes:
            self._since_snapshot_bytes = 0
            self._events.on_rolled(self.name)

    def _seal(self, segment: Segment, fd: int) -> None:
        """Writes the footer: an aid to the next start, which can do without."""
        segment.is_sealed = True
        footer = encoded_footer(segment)
        if footer is not None and not segment.is_empty:
            write_all(self._fs, fd, footer, segment.size_bytes - len(footer))
        self._fs.close(fd)
        self._fd = None
