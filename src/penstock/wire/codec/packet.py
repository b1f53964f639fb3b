"""PACKET on the wire.

    +---------+------+-------+---+-----+--------+-------+---------+
    | version | type | class | M | ttl | origin | epoch | counter |
    +---------+------+-------+---+-----+--------+-------+---------+
      1         1      1       1b  7b    4        2       4
    +---+------+------------------------------------+
    | B | size | if B: base 4, bitmap of size bytes |
    |   |      | else: size brokers of 4 bytes each |
    +---+------+------------------------------------+
      1b  7b
    +-----------------------+
    | transport frame ...   |
    +-----------------------+

Bit i of the bitmap, counted from the lowest bit of its last byte, stands for broker base + i; base
is a multiple of 8, and neither end of the bitmap has a zero byte. The bitmap is used just when it
is shorter than the list. M is the congestion mark: a broker that does not know it reads it as part
of a larger ttl, and relays it unchanged.
"""

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.carried_frame import (
    read_carried_frame,
    size_carried_frame,
    write_carried_frame,
)
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.reader import decode_enum
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.limits import TTL_BITS

_HEAD: Final = Struct(">BBIHIB")
_HEAD_BYTES: Final = _HEAD.size
_BROKER: Final = Struct(">I")
_BITMAP: Final = 0x80
_SIZE_MAX: Final = 0x7F
_CONGESTION_EXPERIENCED: Final = 1 << TTL_BITS
_LISTS: Final = tuple(Struct(f">{count}I") for count in range(_SIZE_MAX + 1))


def size(frame: Packet) -> int:
    """The size of the body in bytes."""
    # Called at every hop; most packets have one destination and a carried frame of known size.
    destinations, carried = frame.destinations, frame.carried
    listed_bytes = 4 if len(destinations) == 1 else size_destinations(destinations)
    return _HEAD_BYTES + listed_bytes + (carried.size_bytes or size_carried_frame(carried))


def size_destinations(destinations: tuple[int, ...]) -> int:
    """The bytes of a sorted set of brokers; raises UsageError if it needs several packets."""
    count = len(destinations)
    bitmap_bytes = _bitmap_bytes(destinations)
    if 4 + bitmap_bytes < 4 * count and bitmap_bytes <= _SIZE_MAX:
        return 4 + bitmap_bytes
    if count > _SIZE_MAX:
        raise UsageError(f"{count} scattered destinations do not fit a packet: split them")
    return 4 * count


def write(frame: Packet) -> bytes:
    """Encodes the body."""
    destinations = frame.destinations
    origin, epoch, counter = frame.id
    size_bytes = size_destinations(destinations)
    if _is_list_shorter(destinations, size_bytes):
        size_field = len(destinations)
        listed = _LISTS[size_field].pack(*destinations)
    else:
        size_field = _BITMAP | size_bytes - 4
        listed = _write_bitmap(destinations, size_bytes - 4)
    ttl = frame.congestion_experienced << TTL_BITS | frame.ttl
    head = _HEAD.pack(frame.traffic, ttl, origin, epoch, counter, size_field)
    return b"".join((head, listed, write_carried_frame(frame.carried)))


def read(data: bytes) -> Packet:
    """Decodes a whole frame."""
    traffic, ttl, origin, epoch, counter, size_field = _HEAD.unpack_from(data, BODY_OFFSET)
    position = BODY_OFFSET + _HEAD.size
    is_bitmap = bool(size_field & _BITMAP)
    if is_bitmap:
        end = position + 4 + (size_field & _SIZE_MAX)
        destinations = _read_bitmap(data[position:end], size_field & _SIZE_MAX)
    else:
        end = position + 4 * size_field
        destinations = _LISTS[size_field].unpack_from(data, position)
    frame = Packet(
        id=PacketId(origin, epoch, counter),
        traffic=decode_enum(TrafficClass, traffic),
        destinations=destinations,
        carried=read_carried_frame(data, end),
        ttl=ttl & ~_CONGESTION_EXPERIENCED,
        congestion_experienced=ttl >= _CONGESTION_EXPERIENCED,
    )
    if is_bitmap is _is_list_shorter(destinations, size_destinations(destinations)):
        raise PeerError("its destinations must be written the shorter way")
    return frame


def _is_list_shorter(destinations: tuple[int, ...], size_bytes: int) -> bool:
    """Whether the list is the shorter form; it is also used when both are equally long."""
    return size_bytes == 4 * len(destinations)


def _bitmap_bytes(destinations: tuple[int, ...]) -> int:
    return (destinations[-1] >> 3) - (destinations[0] >> 3) + 1


def _write_bitmap(destinations: tuple[int, ...], size_bytes: int) -> bytes:
    base = destinations[0] & ~7
    bitmap = 0
    for broker in destinations:
        bitmap |= 1 << broker - base
    return _BROKER.pack(base) + bitmap.to_bytes(size_bytes, "big")


def _read_bitmap(data: bytes, size_bytes: int) -> tuple[int, ...]:
    (base,) = _BROKER.unpack_from(data)
    if len(data) != 4 + size_bytes or size_bytes == 0 or not data[4] or not data[-1] or base & 7:
        raise PeerError("its destinations are no bitmap")
    bitmap = int.from_bytes(data[4:], "big")
    brokers = []
    while bitmap:
        lowest = bitmap & -bitmap
        brokers.append(base + lowest.bit_length() - 1)
        bitmap ^= lowest
    return tuple(brokers)
