"""Opening a log: what is there, what was torn off, and what is damaged.

Full segments tell by their footers; only the last one is read whole, and earlier ones from the last
snapshot on. What is found may be in memory only if a process was killed: it is synced before anyone
is told of it. A torn tail is wiped, and the wipe synced, before anything new is written: otherwise
an old block could follow a new one and be taken for its successor.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final, NamedTuple

from penstock.guaranteed.log_record import (
    LogGap,
    LogRecord,
    LogSegment,
    LogSnapshot,
    RecoveredLog,
)
from penstock.live.log.block import SECTOR_BYTES, Block, entries_of, messages_of
from penstock.live.log.file_system import FileSystem, read_all, read_into, write_all
from penstock.live.log.lease_file import LeaseFile
from penstock.live.log.metadata import Metadata, TrimMark, load_metadata, save_metadata
from penstock.live.log.prepared_segment import UNFINISHED_SUFFIX
from penstock.live.log.reader import read_blocks
from penstock.live.log.scan import DamagedPlace, Scan, scan_segment
from penstock.live.log.segment import (
    NO_ID,
    Segment,
    decoded_footer,
    decoded_header,
    encoded_footer,
    footer_bytes_max,
    id_of_first_block,
    number_of_name,
    segment_name,
)
from penstock.wire.frames.guaranteed.base import GapReason

_READ_BYTES: Final = 4 << 20


class OpenedLog(NamedTuple):
    """All that was found; the last segment takes more blocks unless it is sealed."""

    recovered: RecoveredLog
    segments: list[Segment]
    metadata: Metadata
    lease_file: LeaseFile


def open_log(fs: FileSystem, directory: str) -> OpenedLog:
    """Opens a log, or creates an empty one; the directory is there and locked."""
    metadata = load_metadata(fs, directory)
    numbers = _clean(fs, directory, metadata)
    if metadata is None:
        metadata = Metadata()
        save_metadata(fs, directory, metadata)
    lease_file = LeaseFile(fs, directory)
    numbers = _with_missing_end(fs, directory, numbers, metadata, lease_file.synced_upto)
    # Segments that a killed process created, and the file of the lease, may have their names in
    # memory only.
    fs.sync_directory(directory)
    opening = _Opening(fs, directory, lease_file)
    segments = opening.segments(numbers, metadata)
    metadata = _with_missing_start(fs, directory, metadata, segments)
    return OpenedLog(opening.recovered(segments, metadata), segments, metadata, lease_file)


def _clean(fs: FileSystem, directory: str, metadata: Metadata | None) -> list[int]:
    """Removes what a crash left; returns the first numbers of segments."""
    first_number = metadata.first_number if metadata is not None else 0
    numbers = []
    for name in fs.names(directory):
        number = number_of_name(name)
        if name.endswith(UNFINISHED_SUFFIX) or (number is not None and number < first_number):
            fs.unlink(f"{directory}/{name}")
        elif number is not None:
            numbers.append(number)
    return numbers


def _with_missing_end(
    fs: FileSystem, directory: str, numbers: list[int], metadata: Metadata, synced_upto: int
) -> list[int]:
    """In place of segments that someone removed from the end, an empty file: all of it is damaged.

    If the last one has no footer, scanning it tells what is missing behind its blocks.
    """
    stop_number = metadata.first_number
    if numbers:
        fd = fs.open(f"{directory}/{segment_name(numbers[-1])}")
        try:
            sealed = _sealed(fs, fd, numbers[-1])
        finally:
            fs.close(fd)
        if sealed is None:
            return numbers
        stop_number = sealed.stop_number
    if stop_number > synced_upto:
        return numbers
    fs.close(fs.open(f"{directory}/{segment_name(stop_number)}", create=True))
    return [*numbers, stop_number]


def _sealed(fs: FileSystem, fd: int, number: int) -> Segment | None:
    """The segment as its footer tells; None if that is not there or damaged."""
    size_bytes = fs.size_bytes(fd)
    tail_bytes = min(footer_bytes_max(size_bytes), size_bytes)
    tail = read_all(fs, fd, tail_bytes, size_bytes - tail_bytes)
    sealed = decoded_footer(tail, size_bytes)
    return sealed if sealed is not None and sealed.first_number == number else None


def _with_missing_start(
    fs: FileSystem, directory: str, metadata: Metadata, segments: list[Segment]
) -> Metadata:
    """Segments that someone removed from the beginning count as trimmed."""
    if not segments or segments[0].first_number <= metadata.first_number:
        return metadata
    first = segments[0]
    first_tick = first.index.first_ticks[0] if len(first.index) else first.lease + 1
    mark = TrimMark(first_tick - 1, first.first_number, first.first_message)
    metadata = metadata.with_trims([mark])
    save_metadata(fs, directory, metadata)
    return metadata


class _Found(NamedTuple):
    """A segment as its file shows it: by its footer, or by all its blocks."""

    number: int
    id: int
    size_bytes: int
    sealed: Segment | None
    scan: Scan | None

    @property
    def start(self) -> _Start | None:
        """What its first readable block says of all before it."""
        if self.sealed is not None and len(self.sealed.index):
            return _Start(self.sealed.first_message, self.sealed.tick_before)
        block = self.scan.first_block if self.scan is not None else None
        return _start_of(block) if block is not None else None


class _Start(NamedTuple):
    """How many messages there are before a block, and the last tick that one may have."""

    messages: int
    tick: int


class _Opening:
    """Reads segments, then puts them together: damage at the end of one shows in the next."""

    def __init__(self, fs: FileSystem, directory: str, lease_file: LeaseFile) -> None:
        self._fs: Final = fs
        self._directory: Final = directory
        self._lease_file: Final = lease_file
        self._damaged: Final[list[LogGap]] = []

    def segments(self, numbers: list[int], metadata: Metadata) -> list[Segment]:
        """All segments, oldest first."""
        found = [self._read(*pair) for pair in zip_longest(numbers, numbers[1:])]
        segments: list[Segment] = []
        before = Segment(metadata.first_number, NO_ID, 0)
        before.last_tick = metadata.trimmed_upto
        before.stop_message = metadata.trimmed_messages
        for place, item in enumerate(found):
            starts = (later.start for later in found[place + 1 :])
            behind = next((start for start in starts if start is not None), None)
            is_last = place + 1 == len(found)
            before = item.sealed or self._built(item, before, behind, is_last=is_last)
            if not is_last and before.stop_number < numbers[place + 1]:
                # A whole file is missing between them.
                self._add_damage(before, before.end, numbers[place + 1], behind)
            segments.append(before)
        return segments

    def recovered(self, segments: list[Segment], metadata: Metadata) -> RecoveredLog:
        """What the pubend is told."""
        snapshot, messages = self._since_snapshot(segments)
        last = segments[-1] if segments else None
        return RecoveredLog(
            lease=max([self._lease_file.lease, *(s.lease for s in segments)]),
            next_number=last.stop_number if last is not None else metadata.first_number,
            last_tick=last.last_tick if last is not None else metadata.trimmed_upto,
            trimmed_upto=metadata.trimmed_upto,
            snapshot=snapshot,
            since_snapshot=tuple(messages),
            damaged=tuple(self._damaged),
            segments=tuple(
                LogSegment(
                    s.last_tick, s.last_published_ns, s.end, s.stop_message - s.first_message
                )
                for s in segments
            ),
        )

    def _read(self, number: int, next_number: int | None) -> _Found:
        path = f"{self._directory}/{segment_name(number)}"
        fd = self._fs.open(path)
        try:
            size_bytes = self._fs.size_bytes(fd)
            segment_id = decoded_header(read_all(self._fs, fd, SECTOR_BYTES, 0), path)
            sealed = _sealed(self._fs, fd, number)
            if sealed is not None:
                return _Found(number, sealed.id, size_bytes, sealed, None)
            data = read_into(self._fs, fd, bytearray())
        finally:
            self._fs.close(fd)
        if segment_id is None:
            segment_id = id_of_first_block(data, number)
        scan = scan_segment(
            data,
            segment_id,
            start=SECTOR_BYTES,
            first_number=number,
            synced_upto=self._lease_file.synced_upto if next_number is None else next_number - 1,
        )
        return _Found(number, segment_id, size_bytes, None, scan)

    def _built(
        self, found: _Found, before: Segment, behind: _Start | None, *, is_last: bool
    ) -> Segment:
        """The segment as scanned; its file is mended and synced."""
        scan = found.scan
        assert scan is not None, "a segment without a footer is scanned"
        if scan.torn_lease:
            # Before what tells of it is wiped.
            lease = max(self._lease_file.lease, scan.torn_lease)
            self._lease_file.write(lease, scan.stop_number - 1)
        segment = Segment(found.number, found.id, found.size_bytes, after=before)
        for place in scan.places:
            if not isinstance(place, DamagedPlace):
                segment.add(*place)
            elif place.next_block is not None:
                block = place.next_block
                self._add_damage(segment, place.offset, block.first_number, _start_of(block))
            else:
                self._add_damage(segment, place.offset, scan.stop_number, behind)
        segment.end = scan.end
        # Nobody knows where damage at the end stops: nothing may be written over it.
        has_bad_end = bool(scan.damage) and scan.damage[-1].next_block is None
        segment.is_sealed = has_bad_end or not is_last or found.id == NO_ID
        fd = self._fs.open(f"{self._directory}/{segment.name}", write=True)
        try:
            if is_last and found.id != NO_ID and scan.torn_bytes:
                write_all(self._fs, fd, bytes(scan.torn_bytes), scan.end)
            if segment.is_sealed:
                self._write_footer(fd, segment)
            self._fs.fdatasync(fd)
        finally:
            self._fs.close(fd)
        return segment

    def _add_damage(
        self, segment: Segment, offset: int, stop_number: int, behind: _Start | None
    ) -> None:
        """Notes records that cannot be read; `behind` is what the next readable block says."""
        tick_before = segment.last_tick
        if behind is not None:
            messages = max(0, behind.messages - segment.stop_message)
            last_tick = behind.tick
        else:
            # Each record may have been a message, and no tick was ever given above the lease.
            messages = stop_number - segment.stop_number
            last_tick = max(self._lease_file.lease, segment.lease)
        segment.add_damage(
            offset,
            tick_before=tick_before,
            last_tick=last_tick,
            stop_number=stop_number,
            messages=messages,
        )
        if messages and last_tick > tick_before:
            gap = LogGap(tick_before + 1, last_tick + 1, GapReason.DAMAGED, messages)
            self._damaged.append(gap)

    def _write_footer(self, fd: int, segment: Segment) -> None:
        footer = encoded_footer(segment)
        if footer is not None:
            write_all(self._fs, fd, footer, segment.size_bytes - len(footer))

    def _since_snapshot(self, segments: list[Segment]) -> tuple[bytes | None, list[LogRecord]]:
        """The last snapshot, and the messages behind it: read backwards, a segment at a time."""
        messages: list[LogRecord] = []
        for segment in reversed(segments):
            snapshot, found = self._read_from(segment, segment.snapshot_offset or SECTOR_BYTES)
            if snapshot is None and segment.snapshot_offset:
                # The snapshot is damaged: an earlier one may be left.
                snapshot, found = self._read_from(segment, SECTOR_BYTES)
            messages = found + messages
            if snapshot is not None:
                return snapshot, messages
        return None, messages

    def _read_from(self, segment: Segment, offset: int) -> tuple[bytes | None, list[LogRecord]]:
        snapshot: bytes | None = None
        messages: list[LogRecord] = []
        if offset >= segment.end:
            return snapshot, messages
        fd = self._fs.open(f"{self._directory}/{segment.name}")
        try:
            blocks = read_blocks(
                self._fs, fd, segment.id, offset, segment.end, bytes_max=_READ_BYTES
            )
            for data, place, block in blocks:
                if not block.snapshots:
                    messages += messages_of(data, place, block, has_bodies=False)
                    continue
                for entry in entries_of(data, place, block):
                    if isinstance(entry, LogSnapshot):
                        snapshot = entry.state
                        messages.clear()
                    else:
                        messages.append(entry)
        finally:
            self._fs.close(fd)
        return snapshot, messages


def _start_of(block: Block) -> _Start:
    is_silent = block.records == block.snapshots
    return _Start(block.first_message, block.last_tick if is_silent else block.first_tick - 1)
