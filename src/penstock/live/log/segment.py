"""Segments: the files of a log, each written from its beginning to its end and then removed whole.

    0         512                                   size - footer       size
    +---------+---------+---------+-----+-----------+-------------------+
    | header  | block   | block   | ... | zeros     | footer            |
    +---------+---------+---------+-----+-----------+-------------------+

    header:  "PENSTLOG" | u32 format | u32 crc32 | u64 segment id
    footer:  index columns | u32 crc32 | u32 entries | u64 segment id | u64 end | u64 first number
             | u64 stop number | u64 first message | u64 stop message | u64 last tick
             | i64 last published | u64 lease | u64 snapshot offset | "PENSTFTR"

The name is the number of the first record. A file is filled with zeros before it is used: writing
in place changes no metadata, so that a sync is one write of the disk. The id is random: blocks of
an older file, which a disk may show where a new one was never written, are not taken for its own.
The footer is written when the segment is full; with it, opening a log need not read the segment.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from penstock.kernel.errors import UsageError
from penstock.live.log.block import SECTOR_BYTES, Block, aligned, any_block_at
from penstock.live.log.index import RUN_BYTES_MIN, SegmentIndex

FORMAT: Final = 1
SUFFIX: Final = ".log"
# Of a segment of which neither header nor blocks can be read.
NO_ID: Final = 0

_HEADER: Final = Struct("<8sIIQ")
_HEADER_MAGIC: Final = b"PENSTLOG"
_FOOTER: Final = Struct("<IIQQQQQQQqQQ8s")
_FOOTER_MAGIC: Final = b"PENSTFTR"
# Blocks that the index need not hold otherwise, beside damaged ones.
_SPARE_ENTRIES: Final = 8


class Segment:
    """What is known of one segment: all that is synced, and nothing else."""

    __slots__ = (
        "end",
        "first_message",
        "first_number",
        "id",
        "index",
        "is_sealed",
        "last_published_ns",
        "last_tick",
        "lease",
        "size_bytes",
        "snapshot_offset",
        "stop_message",
        "stop_number",
    )

    def __init__(
        self,
        first_number: int,
        segment_id: int,
        size_bytes: int,
        *,
        after: Segment | None = None,
    ) -> None:
        self.first_number: Final = first_number
        self.id: Final = segment_id
        self.size_bytes: Final = size_bytes
        self.index = SegmentIndex()
        # Behind the last block.
        self.end = SECTOR_BYTES
        self.stop_number = first_number
        self.first_message: int = after.stop_message if after is not None else 0
        self.stop_message: int = self.first_message
        # Of the last message here or before.
        self.last_tick: int = after.last_tick if after is not None else 0
        self.last_published_ns: int = after.last_published_ns if after is not None else 0
        self.lease: int = after.lease if after is not None else 0
        # Of the last block that has a snapshot; 0 for none.
        self.snapshot_offset = 0
        # Whether it takes no more blocks.
        self.is_sealed = False

    @property
    def name(self) -> str:
        """The name of its file."""
        return segment_name(self.first_number)

    @property
    def is_empty(self) -> bool:
        """Whether it has no block, not even a damaged one."""
        return self.stop_number == self.first_number

    def has_room(self, block_bytes: int, offset: int) -> bool:
        """Whether a block at this place ends before the footer begins."""
        limit = self.size_bytes - footer_bytes_max(self.size_bytes)
        return not self.is_sealed and offset + aligned(block_bytes) <= limit

    def add(self, offset: int, block: Block) -> None:
        """A block is on disk at this place."""
        if self.is_empty:
            self.first_message = block.first_message
        self.index.add(offset, block.first_tick, block.last_tick, block.first_message)
        self.end = offset + aligned(block.length_bytes)
        self.stop_number = block.stop_number
        self.stop_message = block.stop_message
        self.last_tick = block.last_tick
        self.last_published_ns = block.last_published_ns
        self.lease = max(self.lease, block.lease)
        if block.snapshots:
            self.snapshot_offset = offset

    @property
    def tick_before(self) -> int:
        """No message before its first block has a later tick."""
        index = self.index
        next_message = index.first_messages[1] if len(index) > 1 else self.stop_message
        is_silent = next_message == self.first_message
        return index.first_ticks[0] if is_silent else index.first_ticks[0] - 1

    def add_damage(
        self, offset: int, *, tick_before: int, last_tick: int, stop_number: int, messages: int
    ) -> None:
        """Blocks from this place on cannot be read: a reader that gets here finds the gap."""
        last_tick = max(tick_before, last_tick)
        self.index.add_damage(offset, tick_before + 1, last_tick, self.stop_message)
        self.stop_number = stop_number
        self.stop_message += messages
        self.last_tick = last_tick


class SegmentSizes(NamedTuple):
    """Sizes double: a small log takes little room, a large one has few files."""

    min_bytes: int = 1 << 20
    max_bytes: int = 64 << 20

    def after(self, segment: Segment | None, *, block_bytes: int = 0) -> int:
        """The size of the segment behind this one, in which such a block fits."""
        double_bytes = 2 * segment.size_bytes if segment is not None else 0
        size_bytes = min(max(double_bytes, self.min_bytes), self.max_bytes)
        while not fits(block_bytes, size_bytes):
            size_bytes *= 2
        return size_bytes


def segment_name(first_number: int) -> str:
    """Names sort as their numbers do."""
    return f"{first_number:020}{SUFFIX}"


def number_of_name(name: str) -> int | None:
    """The number of the first record; None for other files."""
    digits = name.removesuffix(SUFFIX)
    return int(digits) if name.endswith(SUFFIX) and digits.isdecimal() else None


def footer_bytes_max(size_bytes: int) -> int:
    """The room at the end that blocks leave free."""
    entries = size_bytes // RUN_BYTES_MIN + _SPARE_ENTRIES
    return aligned(entries * SegmentIndex.ENTRY_BYTES + _FOOTER.size)


def fits(block_bytes: int, size_bytes: int) -> bool:
    """Whether an empty segment of this size takes the block."""
    return SECTOR_BYTES + aligned(block_bytes) <= size_bytes - footer_bytes_max(size_bytes)


def encoded_header(segment_id: int) -> bytes:
    """The header as bytes."""
    body = _HEADER.pack(_HEADER_MAGIC, FORMAT, 0, segment_id)
    return _HEADER.pack(_HEADER_MAGIC, FORMAT, crc32(body), segment_id)


def decoded_header(data: bytes | bytearray, path: str) -> int | None:
    """The id of the segment; None if the header is damaged, an error if it is of another kind."""
    if len(data) < _HEADER.size:
        return None
    magic, version, crc, segment_id = _HEADER.unpack_from(data)
    body = _HEADER.pack(magic, version, 0, segment_id)
    if crc != crc32(body) or magic != _HEADER_MAGIC:
        return None
    check_format(version, path)
    return int(segment_id)


def id_of_first_block(data: bytes | bytearray, first_number: int) -> int:
    """The id of a segment whose header is damaged, by its blocks; `NO_ID` if there is none."""
    for offset in range(SECTOR_BYTES, len(data), SECTOR_BYTES):
        block = any_block_at(data, offset)
        if block is not None and block.first_number >= first_number:
            return block.segment_id
    return NO_ID


def check_format(version: int, path: str) -> None:
    """Refuses a log that another release wrote in its own way."""
    if version != FORMAT:
        advice = "upgrade Penstock" if version > FORMAT else "use the release that wrote it"
        raise UsageError(
            f"{path} has log format {version}, this release reads {FORMAT}: {advice},"
            " or name an empty directory"
        )


def encoded_footer(segment: Segment) -> bytes | None:
    """The footer as bytes; None if damage has left no room for it: the segment is read then."""
    columns = segment.index.to_bytes()
    fields = (
        len(segment.index),
        segment.id,
        segment.end,
        segment.first_number,
        segment.stop_number,
        segment.first_message,
        segment.stop_message,
        segment.last_tick,
        segment.last_published_ns,
        segment.lease,
        segment.snapshot_offset,
        _FOOTER_MAGIC,
    )
    crc = crc32(_FOOTER.pack(0, *fields), crc32(columns))
    data = columns + _FOOTER.pack(crc, *fields)
    return data if len(data) <= segment.size_bytes - segment.end else None


def decoded_footer(tail: bytes, size_bytes: int) -> Segment | None:
    """The segment that a footer describes; None if there is no whole one.

    `tail` is the end of the file, at least `footer_bytes_max` long.
    """
    if len(tail) < _FOOTER.size:
        return None
    start = len(tail) - _FOOTER.size
    crc, entries, segment_id, end, *numbers, magic = _FOOTER.unpack_from(tail, start)
    columns_bytes = entries * SegmentIndex.ENTRY_BYTES
    if magic != _FOOTER_MAGIC or columns_bytes > start:
        return None
    columns = tail[start - columns_bytes : start]
    if crc != crc32(tail[start + 4 :], crc32(bytes(4), crc32(columns))):
        return None
    segment = Segment(numbers[0], segment_id, size_bytes)
    segment.index = SegmentIndex.from_bytes(columns)
    segment.end = end
    _, segment.stop_number, segment.first_message, segment.stop_message, *rest = numbers
    segment.last_tick, segment.last_published_ns, segment.lease, segment.snapshot_offset = rest
    segment.is_sealed = True
    return segment
