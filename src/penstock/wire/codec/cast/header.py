"""The header of a packet on the wire. It is written and read for every symbol."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.cast.framing import HEADER_BYTES
from penstock.wire.codec.codec_table import VERSION
from penstock.wire.frames.cast.base import FILTER_BYTES, Item
from penstock.wire.frames.cast.header import ALL_FLAGS, Flag, Header

_HEADER: Final = Struct(f">BBBBB{FILTER_BYTES}sQQHHIII")
assert _HEADER.size == HEADER_BYTES
# Calling an enum class takes ten times as long as this lookup.
_FLAGS: Final = tuple(map(Flag, range(ALL_FLAGS + 1)))
# Where the number of a symbol is: the headers of a train differ in nothing else.
SYMBOL_START: Final = 60
SYMBOL_STOP: Final = 64
# Generation, block and symbol: which symbol of a transfer it is. No router changes them.
PLACE: Final = slice(56, SYMBOL_STOP)
PLACE_AND_STAMP: Final = slice(56, 68)


class HeaderCodec:
    """Where a packet goes, and which symbol of what it carries.

    +---------+------+-------+-----+--------+-------+-------+------+---------+------+
    | version | type | flags | ttl | choice | links | scope | name | segment | plan |
    +---------+------+-------+-----+--------+-------+-------+------+---------+------+
      1         1      1       1     1        31      8       8      2         2
    +------------+-------+--------+-------+
    | generation | block | symbol | stamp |
    +------------+-------+--------+-------+
      1            3       4        4

    `scope` and `name` are the item, the stamp is in microseconds.
    """

    BYTES_MAX: Final = HEADER_BYTES

    @staticmethod
    def size(_header: Header) -> int:
        """The size of the header in bytes."""
        return HEADER_BYTES

    @staticmethod
    def write(header: Header, type_code: int) -> bytes:
        """Encodes the header of a packet of this type."""
        scope, name = header.item
        return _HEADER.pack(
            VERSION,
            type_code,
            header.flags,
            header.ttl,
            header.choice,
            header.links.to_bytes(FILTER_BYTES, "big"),
            scope,
            name,
            header.segment,
            header.plan,
            header.generation << 24 | header.block,
            header.symbol,
            header.stamp_us,
        )

    @staticmethod
    def read(data: bytes | memoryview) -> Header:
        """Decodes the header that `data` begins with; its version and type have been looked at."""
        (
            _,
            _,
            flags,
            ttl,
            choice,
            links,
            scope,
            name,
            segment,
            plan,
            generation_and_block,
            symbol,
            stamp_us,
        ) = _HEADER.unpack_from(data)
        if flags > ALL_FLAGS:
            raise PeerError(f"flags {flags:#04x} are not all known")
        return Header(
            ttl=ttl,
            choice=choice,
            links=int.from_bytes(links, "big"),
            item=Item(scope, name),
            flags=_FLAGS[flags],
            segment=segment,
            plan=plan,
            generation=generation_and_block >> 24,
            block=generation_and_block & 0xFFFFFF,
            symbol=symbol,
            stamp_us=stamp_us,
        )
