"""Fields that several frames have in common.

    nodes      +-------+------+         optional  +--------+---------+
               | count | node | ...               | is set | [bytes] |
               +-------+------+                   +--------+---------+
                 1       4                          1        as the frame says

Numbers of blocks have 3 bytes, filters 31.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack
from typing import Final

from penstock.wire.codec.reader import U8, Reader, decode_flag
from penstock.wire.frames.cast.base import FILTER_BYTES

NODE_BYTES: Final = 4
BLOCK_NUMBER_BYTES: Final = 3


def write_links(links: int) -> bytes:
    """Encodes a filter."""
    return links.to_bytes(FILTER_BYTES, "big")


def read_links(cursor: Reader) -> int:
    """Decodes a filter."""
    return cursor.read_uint(FILTER_BYTES)


def write_block_number(number: int) -> bytes:
    """Encodes the number of a block, or of blocks."""
    return number.to_bytes(BLOCK_NUMBER_BYTES, "big")


def read_block_number(cursor: Reader) -> int:
    """Decodes the number of a block, or of blocks."""
    return cursor.read_uint(BLOCK_NUMBER_BYTES)


def size_nodes(nodes: Sequence[int]) -> int:
    """The size of nodes with their number."""
    return U8.size + NODE_BYTES * len(nodes)


def write_nodes(nodes: Sequence[int]) -> bytes:
    """Encodes nodes behind their number."""
    return pack(f">B{len(nodes)}I", len(nodes), *nodes)


def read_nodes(cursor: Reader) -> tuple[int, ...]:
    """Decodes nodes behind their number."""
    return cursor.unpack(Struct(f">{cursor.unpack_one(U8)}I"))


def write_optional(data: bytes) -> bytes:
    """Encodes bytes that may be missing."""
    return U8.pack(bool(data)) + data


def read_optional(name: str, cursor: Reader, size_bytes: int) -> bytes:
    """Decodes bytes that may be missing."""
    return cursor.read_bytes(size_bytes) if decode_flag(name, cursor.unpack_one(U8)) else b""
