"""Reading from a log while it is written: messages by ticks, and how many there are.

Sees only what is synced. Files are opened for each read: a log may have more of them than a process
may open, and one that is removed meanwhile stays readable. A block that cannot be read shows in the
next one, which says how many messages should have come before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from penstock.guaranteed.log_record import Fetched, LogGap, LogRecord
from penstock.live.log.block import (
    BLOCK_BYTES_MAX,
    SECTOR_BYTES,
    Block,
    aligned,
    block_at,
    block_length,
    find_block,
    messages_of,
    ticks_of,
)
from penstock.live.log.file_system import FileSystem, read_all
from penstock.live.log.index import LogIndex, Run, View
from penstock.live.log.metadata import Metadata
from penstock.wire.frames.guaranteed.base import GapReason

_READ_BYTES_MAX: Final = 1 << 20
# What a message takes besides its body and the name of its publisher, on disk and in memory.
_RECORD_BYTES: Final = 30


class LogReader:
    """`metadata` tells how far the log is trimmed now, `unsynced_tick` what is not on disk yet."""

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        index: LogIndex,
        *,
        metadata: Callable[[], Metadata],
        unsynced_tick: Callable[[], int | None],
    ) -> None:
        self._fs: Final = fs
        self._directory: Final = directory
        self._index: Final = index
        self._metadata: Final = metadata
        self._unsynced_tick: Final = unsynced_tick

    def fetch(self, start: int, stop: int, bytes_max: int) -> Fetched:
        """Messages from `start` up to `stop`; see `Fetched`. Gaps are given whole."""
        while True:
            metadata = self._metadata()
            try:
                fetched = self._fetch(start, stop, bytes_max, metadata)
            except FileNotFoundError:
                # If it was not trimmed meanwhile, someone else has removed the file.
                if self._metadata() is metadata:
                    raise
                continue
            if fetched is not None:
                return fetched

    def count(self, after: int, upto: int) -> int:
        """How many messages have ticks in (after, upto]; at most, where the log is trimmed."""
        while True:
            metadata = self._metadata()
            messages = self._messages_upto(upto, metadata) - self._messages_upto(after, metadata)
            if self._metadata() is metadata:
                return max(0, messages)

    def _fetch(self, start: int, stop: int, bytes_max: int, metadata: Metadata) -> Fetched | None:
        """None if the log was trimmed meanwhile: what is gone must not look like silence."""
        # Asked for first: what is synced from now on may be read, but nothing before it is missed.
        unsynced_tick = self._unsynced_tick()
        if unsynced_tick is not None:
            stop = min(stop, unsynced_tick)
        collected = _Collected(start, stop, bytes_max)
        if start <= metadata.trimmed_upto and metadata.trimmed_messages:
            trimmed_stop = metadata.trimmed_upto + 1
            messages = metadata.messages_between(start, trimmed_stop)
            gap = LogGap(start, trimmed_stop, GapReason.RETENTION, messages)
            collected.gaps.append(gap)
            start = trimmed_stop
            collected.start = start
            if start >= stop:
                return collected.result(start)
        view = self._index.view()
        run = self._index.run_of(start)
        if self._metadata() is not metadata:
            return None
        if run is None:
            return collected.result(stop)
        messages, tick = run.messages, run.tick
        for data, offset, block in self._blocks(view, run, min(bytes_max, _READ_BYTES_MAX)):
            if block.first_message > messages:
                is_silent = block.records == block.snapshots
                gap_stop = block.last_tick + 1 if is_silent else block.first_tick
                end = collected.damage(tick + 1, gap_stop, block.first_message - messages)
                if end is not None:
                    return collected.result(end)
            end = collected.block(data, offset, block)
            if end is not None:
                return collected.result(end)
            messages, tick = block.stop_message, block.last_tick
        if view.messages > messages:
            end = collected.damage(tick + 1, view.last_tick + 1, view.messages - messages)
            if end is not None:
                return collected.result(end)
        return collected.result(stop)

    def _blocks(self, view: View, run: Run, bytes_max: int) -> Iterator[tuple[bytes, int, Block]]:
        """Whole blocks from a run on, to the end of the view."""
        offset = run.offset
        is_found = False
        for segment in view.segments:
            is_found = is_found or segment is run.segment
            if not is_found:
                continue
            end = view.end if segment is view.segments[-1] else segment.end
            if offset < end:
                fd = self._fs.open(f"{self._directory}/{segment.name}")
                try:
                    yield from read_blocks(
                        self._fs, fd, segment.id, offset, end, bytes_max=bytes_max
                    )
                finally:
                    self._fs.close(fd)
            offset = SECTOR_BYTES

    def _messages_upto(self, tick: int, metadata: Metadata) -> int:
        if tick <= metadata.trimmed_upto:
            return metadata.messages_upto(tick)
        found = self._index.messages_upto(tick)
        if isinstance(found, int):
            return max(found, metadata.trimmed_messages)
        messages = found.messages
        try:
            fd = self._fs.open(f"{self._directory}/{found.segment.name}")
        except FileNotFoundError:
            return messages
        try:
            size_bytes = found.stop - found.offset
            blocks = read_blocks(
                self._fs, fd, found.segment.id, found.offset, found.stop, bytes_max=size_bytes
            )
            for data, offset, block in blocks:
                if block.first_tick > tick:
                    break
                if block.last_tick <= tick:
                    messages = block.stop_message
                else:
                    ticks = ticks_of(data, offset, block)
                    messages = block.first_message + bisect_right(ticks, tick)
        finally:
            self._fs.close(fd)
        return messages


class _Collected:
    """The answer to one fetch while it grows; methods return its `stop` once it is complete."""

    __slots__ = ("bytes_max", "gaps", "records", "size_bytes", "start", "stop")

    def __init__(self, start: int, stop: int, bytes_max: int) -> None:
        self.start = start
        self.stop = stop
        self.bytes_max = bytes_max
        self.size_bytes = 0
        self.records: list[LogRecord] = []
        self.gaps: list[LogGap] = []

    def result(self, stop: int) -> Fetched:
        """The answer, complete up to `stop`."""
        return Fetched(tuple(self.records), tuple(self.gaps), stop)

    def damage(self, gap_start: int, gap_stop: int, messages: int) -> int | None:
        """Messages between these ticks cannot be read."""
        gap_start = max(gap_start, self.start)
        if gap_start >= gap_stop:
            return None
        if gap_start >= self.stop:
            return gap_start
        self.gaps.append(LogGap(gap_start, gap_stop, GapReason.DAMAGED, messages))
        return gap_stop if gap_stop >= self.stop else None

    def block(self, data: bytes, offset: int, block: Block) -> int | None:
        """Takes what was asked for of a block."""
        if block.records == block.snapshots or block.last_tick < self.start:
            return None
        if block.first_tick >= self.stop:
            return block.first_tick
        size_bytes = self.size_bytes + block.entries_bytes
        if self.records and size_bytes > self.bytes_max:
            # The next fetch begins with it: a block that is cut would be read twice.
            return block.first_tick
        messages = messages_of(data, offset, block)
        is_inside = self.start <= block.first_tick and block.last_tick < self.stop
        if is_inside and size_bytes <= self.bytes_max:
            self.records += messages
            self.size_bytes = size_bytes
            return None
        return self._some(messages)

    def _some(self, messages: list[LogRecord]) -> int | None:
        """Takes messages one by one, at least one."""
        records, start, stop = self.records, self.start, self.stop
        for record in messages:
            tick = record.tick
            if tick < start:
                continue
            if tick >= stop:
                return tick
            if records and self.size_bytes >= self.bytes_max:
                return tick
            records.append(record)
            self.size_bytes += len(record.body) + len(record.publisher) + _RECORD_BYTES
        return None


def read_blocks(
    fs: FileSystem, fd: int, segment_id: int, offset: int, end: int, *, bytes_max: int
) -> Iterator[tuple[bytes, int, Block]]:
    """Whole blocks of a segment in their order; bad ones are passed over."""
    read_bytes = bytes_max + BLOCK_BYTES_MAX
    while offset < end:
        data = read_all(fs, fd, min(read_bytes, end - offset), offset)
        if not data:
            return
        place = 0
        while place < len(data):
            block = block_at(data, place, segment_id)
            if block is None:
                break
            yield data, place, block
            place += aligned(block.length_bytes)
        if place:
            offset += place
            continue
        length = block_length(data, 0, segment_id)
        if length is not None and len(data) < length <= end - offset:
            # A block larger than what is read at once.
            data = read_all(fs, fd, length, offset)
            block = block_at(data, 0, segment_id)
            if block is not None:
                yield data, 0, block
                offset += aligned(length)
                continue
        rest = read_all(fs, fd, end - offset, offset)
        found = find_block(rest, 1, segment_id)
        if found is None:
            return
        offset += found[0]
