"""The end of one log: what waits to be written, and where it goes.

Appends come from the thread of the driver; everything else runs in the writer's thread, but for
`prepared`, which the housekeeper hands over. A batch is what has arrived since the last one was
taken. Nothing is written into a segment before all of the one before it is synced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from penstock.guaranteed.log_record import LogRecord
from penstock.live.log.block import (
    BLOCK_BYTES_MAX,
    Block,
    Entry,
    aligned,
    block_bytes,
    encode_entries,
    encoded_block,
)
from penstock.live.log.file_system import FileSystem, write_all
from penstock.live.log.index import LogIndex
from penstock.live.log.lease_file import LeaseFile
from penstock.live.log.segment import (
    PreparedSegment,
    Segment,
    SegmentSizes,
    encoded_footer,
    fits,
    segment_name,
)

# So that other logs get their turn.
BATCH_RECORDS_MAX: Final = 16_384

Appended: TypeAlias = tuple[int, Entry | None, int]


class LogEvents(Protocol):
    """What a driver is told, in the writer's or the housekeeper's thread."""

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        """All appends up to this number, and the lease, are on disk."""

    def on_rolled(self, log: str) -> None:
        """A segment has begun: it wants a snapshot."""

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
        sizes: SegmentSizes,
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
        self._events: Final = events
        self._wake: Final = wake
        self._prepare: Final = prepare
        self._on_snapshot: Final = on_snapshot
        self._pending: Final[deque[Appended]] = deque()
        # Taken from there, and not synced yet.
        self._taken: list[Appended] = []
        self._is_woken = False
        self._next_number = next_number
        self._synced_upto = next_number - 1
        self._lease = lease
        segments = index.segments
        self._segment: Segment | None = segments[-1] if segments else None
        self._fd: int | None = None
        if self._segment is not None and not self._segment.is_sealed:
            self._fd = fs.open(f"{directory}/{self._segment.name}", write=True)
        self.prepared: PreparedSegment | None = None
        # The next segment has at least this size.
        self.size_wanted_bytes = sizes.after(self._segment)
        self.is_starving = False
        self._placed: Final[list[_Placed]] = []
        self._buffers: Final[list[bytes]] = []
        self._cursor = 0

    def append(self, number: int, record: Entry | None, lease: int) -> None:
        """Takes a record to be written; None writes the lease alone."""
        self._pending.append((number, record, lease))
        if not self._is_woken:
            self._is_woken = True
            self._wake(self.write)

    def unsynced_tick(self) -> int | None:
        """The tick of the oldest message that is not on disk; None if there is none."""
        with self._index.lock:
            for waiting in (self._taken, self._pending):
                for place in range(len(waiting)):
                    record = waiting[place][1]
                    if record.__class__ is LogRecord:
                        return record.tick
        return None

    def write(self) -> None:
        """Writes and syncs all that has arrived, as far as there is room."""
        # Before taking: whoever appends from now on wakes the writer again.
        self._is_woken = False
        batch = self._take()
        if not batch:
            return
        lease = max([self._lease, *(item[2] for item in batch)])
        if self.is_starving:
            self._renew_lease(lease)
            return
        records = [item for item in batch if item[1] is not None]
        if records:
            assert records[0][0] == self._next_number, f"{records[0][0]} is not the next number"
            assert records[-1][0] == self._next_number + len(records) - 1, "numbers are dense"
        written = self._write_records(records, lease)
        if written < len(records):
            self._put_back(records[written:], lease)
            return
        if not records:
            self._lease_file.write(lease, self._synced_upto)
        self._lease = lease
        with self._index.lock:
            self._taken = []
        self._events.on_synced(self.name, batch[-1][0], lease)
        if self._pending and not self._is_woken:
            self._is_woken = True
            self._wake(self.write)

    def close(self) -> None:
        """Closes the file; in the writer's thread, when nothing else is to come."""
        if self._fd is not None:
            self._fs.close(self._fd)
            self._fd = None

    def _take(self) -> list[Appended]:
        pending = self._pending
        with self._index.lock:
            batch = self._taken
            for _ in range(min(len(pending), BATCH_RECORDS_MAX)):
                batch.append(pending.popleft())
        return batch

    def _put_back(self, rest: list[Appended], lease: int) -> None:
        """There is no segment for the rest: it waits, but the lease does not."""
        with self._index.lock:
            self._taken = rest
        self._renew_lease(lease)
        self.is_starving = True
        self._prepare()

    def _renew_lease(self, lease: int) -> None:
        if lease > self._lease:
            self._lease_file.write(lease, self._synced_upto)
            self._lease = lease
        self._events.on_synced(self.name, self._synced_upto, lease)

    def _write_records(self, records: list[Appended], lease: int) -> int:
        """Returns how many are synced."""
        start, size_bytes = 0, 0
        parts: list[bytes] = []
        entries = encode_entries([record for _, record, _ in records if record is not None])
        for place, data in enumerate(entries):
            if parts and size_bytes + len(data) > BLOCK_BYTES_MAX:
                if not self._place(records[start:place], parts, size_bytes, lease):
                    return start
                start, size_bytes, parts = place, 0, []
            parts.append(data)
            size_bytes += len(data)
        if parts and not self._place(records[start:], parts, size_bytes, lease):
            return start
        self._flush()
        return len(records)

    def _place(
        self, records: list[Appended], parts: list[bytes], size_bytes: int, lease: int
    ) -> bool:
        """Puts a block behind the others; False if it needs a segment that is not there yet."""
        needed_bytes = block_bytes(size_bytes)
        if not self._has_room(needed_bytes):
            self._flush()
            if not self._roll(needed_bytes):
                return False
        segment = self._segment
        assert segment is not None
        if not self._placed:
            self._cursor = segment.end
        before = self._placed[-1].block if self._placed else None
        last_tick = before.last_tick if before is not None else segment.last_tick
        published_ns = before.last_published_ns if before is not None else segment.last_published_ns
        first_tick = last_tick
        messages = [r for _, r, _ in records if isinstance(r, LogRecord)]
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
        data = encoded_block(block, parts)
        padded_bytes = aligned(needed_bytes)
        self._placed.append(_Placed(self._cursor, block))
        self._buffers.append(data.ljust(padded_bytes, b"\0"))
        self._cursor += padded_bytes
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
        write_all(self._fs, fd, b"".join(self._buffers), self._placed[0].offset)
        self._fs.fdatasync(fd)
        has_snapshot = False
        with self._index.lock:
            for offset, block in self._placed:
                segment.add(offset, block)
                has_snapshot = has_snapshot or block.snapshots > 0
        self._synced_upto = segment.stop_number - 1
        self._placed.clear()
        self._buffers.clear()
        if has_snapshot:
            self._on_snapshot()

    def _roll(self, needed_bytes: int) -> bool:
        """Begins the next segment, if there is one that is large enough."""
        old = self._segment
        prepared = self.prepared
        if prepared is None or not fits(needed_bytes, prepared.size_bytes):
            self.size_wanted_bytes = self._sizes.after(old, block_bytes=needed_bytes)
            return False
        self.prepared = None
        if old is not None and self._fd is not None:
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
        self._prepare()
        if first_number > 1:
            self._events.on_rolled(self.name)
        return True

    def _seal(self, segment: Segment, fd: int) -> None:
        """Writes the footer: an aid to the next start, which can do without."""
        segment.is_sealed = True
        footer = encoded_footer(segment)
        if footer is not None and not segment.is_empty:
            write_all(self._fs, fd, footer, segment.size_bytes - len(footer))
            self._fs.fdatasync(fd)
        self._fs.close(fd)
        self._fd = None
