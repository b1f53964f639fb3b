"""Blocks: what the log writes at once, as bytes.

    0        4        8                16               24
    +--------+--------+----------------+----------------+
    | crc32  | length | segment id     | first number   |   crc32 over all behind itself
    +--------+--------+----------------+----------------+
    | first message   | lease          | synced upto    |   24 ..
    +-----------------+----------------+----------------+
    | first tick      | last tick      | last published |   48 ..
    +--------+--------+----------------+----------------+
    |records |snapshots| records ...                     |   72 ..
    +--------+--------+---------------------------------+

    record:    u32 length | u8 kind | u8 name length | u64 tick | i64 published | u64 publication
               | name | body
    snapshot:  u32 length | u8 kind | 0 | 0 | 0 | 0 | state

All numbers are little-endian. A block begins at a multiple of 512 bytes, so that writing it never
touches a sector that is already synced. Numbers count records from 1 on, snapshots included;
`first message` counts the messages before the block since the log was created, so that messages
between two ticks are a subtraction, and those in a damaged block too. A block without messages has
the tick and time of the last message before it.

Pure: bytes and objects, no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from penstock.guaranteed.log_record import LogRecord, LogSnapshot

SECTOR_BYTES: Final = 512
# A reader takes whole blocks: larger ones would make it read much more than it was asked for.
BLOCK_BYTES_MAX: Final = 64 << 10

_CRC: Final = Struct("<I")
_HEAD: Final = Struct("<IQQQQQQQqII")
_HEAD_BYTES: Final = _CRC.size + _HEAD.size
_RECORD: Final = Struct("<IBBQqQ")
_CRC_BYTES_MAX: Final = 5 << 10
_MESSAGE_KIND: Final = 1
_SNAPSHOT_KIND: Final = 2
# Where the id stands, to be searched for.
ID_OFFSET: Final = 8

Entry: TypeAlias = LogRecord | LogSnapshot
Buffer: TypeAlias = bytes | bytearray | memoryview


class Block(NamedTuple):
    """What the head of a block says."""

    length_bytes: int
    segment_id: int
    first_number: int
    first_message: int
    lease: int
    synced_upto: int
    first_tick: int
    last_tick: int
    last_published_ns: int
    records: int
    snapshots: int

    @property
    def entries_bytes(self) -> int:
        """How long it is without its head."""
        return self.length_bytes - _HEAD_BYTES

    @property
    def stop_number(self) -> int:
        """The number behind its last record."""
        return self.first_number + self.records

    @property
    def stop_message(self) -> int:
        """How many messages there are up to its end."""
        return self.first_message + self.records - self.snapshots


def aligned(size_bytes: int) -> int:
    """The size in whole sectors."""
    return -(-size_bytes // SECTOR_BYTES) * SECTOR_BYTES


def encode_entries(entries: Iterable[Entry]) -> list[bytes]:
    """Each record as bytes: one call for many, since a log spends most of its time here."""
    found = []
    pack, head_bytes, join = _RECORD.pack, _RECORD.size, b"".join
    for entry in entries:
        if entry.__class__ is LogRecord:
            name = entry.publisher.encode()
            body = entry.body
            head = pack(
                head_bytes + len(name) + len(body),
                _MESSAGE_KIND,
                len(name),
                entry.tick,
                entry.published_ns,
                entry.publication,
            )
            found.append(join((head, name, body)))
        else:
            assert isinstance(entry, LogSnapshot), f"a log takes no {entry!r}"
            length = head_bytes + len(entry.state)
            found.append(pack(length, _SNAPSHOT_KIND, 0, 0, 0, 0) + entry.state)
    return found


def checksum(data: Buffer) -> int:
    """The crc32 of all of it, without letting other threads in.

    For more bytes than these, `zlib` lets them: then a thread that has to write or read now would
    wait, for each block, until a busy event loop makes room for it.
    """
    if len(data) <= _CRC_BYTES_MAX:
        return crc32(data)
    view, crc = memoryview(data), 0
    for start in range(0, len(view), _CRC_BYTES_MAX):
        crc = crc32(view[start : start + _CRC_BYTES_MAX], crc)
    return crc


def block_parts(block: Block, entries: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """A block as bytes, the last of which fill the sector: parts, so that nothing is copied twice.

    Its length must be right, see `block_bytes`.
    """
    rest = b"".join((_HEAD.pack(*block), *entries))
    padding = bytes(-block.length_bytes % SECTOR_BYTES)
    return _CRC.pack(checksum(rest)), rest, padding


def block_bytes(entries_bytes: int) -> int:
    """How large the block around these entries is."""
    return _HEAD_BYTES + entries_bytes


def block_at(data: Buffer, offset: int, segment_id: int) -> Block | None:
    """The block of this segment that begins here and is whole; None if there is none."""
    if offset + _HEAD_BYTES > len(data):
        return None
    head = _HEAD.unpack_from(data, offset + _CRC.size)
    length = head[0]
    if head[1] != segment_id or not _HEAD_BYTES <= length <= len(data) - offset:
        return None
    (crc,) = _CRC.unpack_from(data, offset)
    if checksum(memoryview(data)[offset + _CRC.size : offset + length]) != crc:
        return None
    return Block._make(head)


def block_length(data: Buffer, offset: int, segment_id: int) -> int | None:
    """How long the block that begins here says it is; None if it is none of this segment."""
    if offset + _HEAD_BYTES > len(data):
        return None
    head = _HEAD.unpack_from(data, offset + _CRC.size)
    return int(head[0]) if head[1] == segment_id and head[0] >= _HEAD_BYTES else None


def any_block_at(data: Buffer, offset: int) -> Block | None:
    """The block that begins here, of whichever segment."""
    if offset + _HEAD_BYTES > len(data):
        return None
    head = _HEAD.unpack_from(data, offset + _CRC.size)
    return block_at(data, offset, head[1])


def find_block(data: bytes | bytearray, start: int, segment_id: int) -> tuple[int, Block] | None:
    """The first whole block of this segment at or behind `start`; quick over zeros."""
    if not segment_id:
        # No segment has it; all zeros would look like it.
        return None
    wanted = segment_id.to_bytes(8, "little")
    place = data.find(wanted, start + ID_OFFSET)
    while place >= 0:
        offset = place - ID_OFFSET
        if offset % SECTOR_BYTES == 0:
            block = block_at(data, offset, segment_id)
            if block is not None:
                return offset, block
        place = data.find(wanted, place + 1)
    return None


def messages_of(
    data: bytes, offset: int, block: Block, *, has_bodies: bool = True
) -> list[LogRecord]:
    """The messages of a block that is known to be whole."""
    found = []
    unpack = _RECORD.unpack_from
    head_bytes = _RECORD.size
    place = offset + _HEAD_BYTES
    for _ in range(block.records):
        length, kind, name_bytes, tick, published_ns, publication = unpack(data, place)
        stop = place + length
        if kind == _MESSAGE_KIND:
            name = place + head_bytes
            behind = name + name_bytes
            body = data[behind:stop] if has_bodies else b""
            found.append(
                LogRecord(tick, published_ns, data[name:behind].decode(), publication, body)
            )
        place = stop
    return found


def entries_of(data: bytes, offset: int, block: Block) -> list[Entry]:
    """The records of a block that is known to be whole, snapshots too."""
    messages = iter(messages_of(data, offset, block))
    found: list[Entry] = []
    place = offset + _HEAD_BYTES
    for _ in range(block.records):
        length, kind, *_rest = _RECORD.unpack_from(data, place)
        if kind == _MESSAGE_KIND:
            found.append(next(messages))
        else:
            found.append(LogSnapshot(data[place + _RECORD.size : place + length]))
        place += length
    return found


def ticks_of(data: bytes, offset: int, block: Block) -> list[int]:
    """The ticks of the messages of a block, without their bodies."""
    found = []
    place = offset + _HEAD_BYTES
    for _ in range(block.records):
        length, kind, _name, tick, _published, _publication = _RECORD.unpack_from(data, place)
        if kind == _MESSAGE_KIND:
            found.append(tick)
        place += length
    return found
