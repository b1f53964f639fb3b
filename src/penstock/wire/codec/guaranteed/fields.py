"""Fields that several frames have in common.

    text       +-------+------+        reader   +-------+------+--------+
               | bytes | text |                 | bytes | host | number |
               +-------+------+                 +-------+------+--------+
                 1 or 2  bytes                    1       bytes  4

    ranges     +-------+------+        positions +--------+------+
               | start | stop | ...              | pubend | tick | ...
               +-------+------+                  +--------+------+
                 8       8                         8        8

A reader of 0 bytes is none, and has no number. The picture of a frame says how many ranges or
positions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from struct import Struct, pack
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec import filter as filter_codec
from penstock.wire.codec.reader import U8, U16, U32, Reader
from penstock.wire.frames.guaranteed.base import PREDICATE_BYTES_MAX, ReaderId, TickRange
from penstock.wire.frames.guaranteed.subscription import Position
from penstock.wire.frames.texts import text_bytes

PAIR_BYTES: Final = 16
NO_READER: Final = b"\0"


def size_text(text: str) -> int:
    """The size of a text with its length byte."""
    return 1 + text_bytes(text)


def write_text(text: str) -> bytes:
    """Encodes a text of up to 255 bytes."""
    data = text.encode()
    return U8.pack(len(data)) + data


def text_at(data: bytes, start: int, end: int) -> str:
    """Decodes the text between two places, for codecs that do without a `Reader`."""
    if end > len(data):
        raise PeerError("the frame ends in the middle of a field")
    try:
        return data[start:end].decode()
    except UnicodeDecodeError:
        raise PeerError("a string is not UTF-8") from None


def bodies_at(data: bytes, start: int, sizes: Sequence[int]) -> tuple[bytes, ...]:
    """The bodies of these sizes from a place up to the end, for codecs without a `Reader`."""
    places = [*accumulate(sizes, initial=start)]
    if places[-1] != len(data):
        raise PeerError(f"bodies of {places[-1] - start} bytes, in {len(data) - start}")
    return tuple([data[place:stop] for place, stop in pairwise(places)])


def read_text(cursor: Reader) -> str:
    """Decodes a text of up to 255 bytes."""
    return cursor.read_text(cursor.unpack_one(U8))


def write_long_text(text: str) -> bytes:
    """Encodes a text of up to 65 535 bytes."""
    data = text.encode()
    return U16.pack(len(data)) + data


def read_long_text(cursor: Reader) -> str:
    """Decodes a text of up to 65 535 bytes."""
    return cursor.read_text(cursor.unpack_one(U16))


def size_reader(reader: ReaderId | None) -> int:
    """The size of a reader, or of none."""
    return 1 if reader is None else size_text(reader.host) + U32.size


def write_reader(reader: ReaderId | None) -> bytes:
    """Encodes a reader, or none."""
    if reader is None:
        return NO_READER
    return write_text(reader.host) + U32.pack(reader.number)


def read_reader(cursor: Reader) -> ReaderId | None:
    """Decodes a reader, or none."""
    host = read_text(cursor)
    return ReaderId(host, cursor.unpack_one(U32)) if host else None


def write_pairs(pairs: Sequence[tuple[int, int]]) -> bytes:
    """Encodes ranges or positions, without their number."""
    return pack(f">{2 * len(pairs)}Q", *chain.from_iterable(pairs))


def read_ranges(cursor: Reader, count: int) -> tuple[TickRange, ...]:
    """Decodes so many ranges."""
    numbers = cursor.unpack(Struct(f">{2 * count}Q"))
    return tuple(map(TickRange, numbers[::2], numbers[1::2]))


def size_positions(positions: Sequence[Position]) -> int:
    """The size of positions with their number."""
    return U16.size + PAIR_BYTES * len(positions)


def write_positions(positions: Sequence[Position]) -> bytes:
    """Encodes positions behind their number, which has 2 bytes."""
    return U16.pack(len(positions)) + write_pairs(positions)


def read_positions(cursor: Reader) -> tuple[Position, ...]:
    """Decodes positions behind their number."""
    numbers = cursor.unpack(Struct(f">{2 * cursor.unpack_one(U16)}Q"))
    return tuple(map(Position, numbers[::2], numbers[1::2]))


def write_predicate(predicate: Predicate) -> bytes:
    """Encodes a predicate, see `codec.filter`; one that is too large for a frame is refused."""
    data = filter_codec.write_predicate(predicate)
    if len(data) > PREDICATE_BYTES_MAX:
        raise UsageError(
            f"a filter of {len(data)} bytes: at most {PREDICATE_BYTES_MAX} fit a frame, use fewer"
            " or shorter values"
        )
    return data


def read_predicate(cursor: Reader) -> Predicate:
    """Decodes a predicate; the same bound in all frames lets every broker pass it on."""
    start = cursor.position
    predicate = filter_codec.read_predicate(cursor)
    size_bytes = cursor.position - start
    if size_bytes > PREDICATE_BYTES_MAX:
        raise PeerError(f"a filter of {size_bytes} bytes is larger than {PREDICATE_BYTES_MAX}")
    return predicate
