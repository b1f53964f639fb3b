"""FIRST, END, FIRST_REQ and STOP on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.fields import (
    BLOCK_NUMBER_BYTES,
    NODE_BYTES,
    read_block_number,
    read_links,
    read_nodes,
    read_optional,
    size_nodes,
    write_block_number,
    write_links,
    write_nodes,
    write_optional,
)
from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.guaranteed.fields import read_long_text, write_long_text
from penstock.wire.codec.reader import U8, U16, U32, Reader, decode_enum
from penstock.wire.frames.cast.base import (
    FAILED_MAX,
    FILTER_BYTES,
    HASH_BYTES,
    OBJECT_ID_BYTES,
    STREAM_BLOCKS_MAX,
    TEXT_BYTES_MAX,
)
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.transfer import (
    ClosedBlock,
    End,
    First,
    FirstRequest,
    RepairChoice,
    Stop,
)
from penstock.wire.frames.texts import text_bytes

PUBLIC_KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_OBJECT: Final = Struct(f">I{OBJECT_ID_BYTES}sBBQH")
_SIZES: Final = Struct(">HIH")
_FIRST_BYTES: Final = (
    U8.size + FILTER_BYTES + U8.size + _OBJECT.size + BLOCK_NUMBER_BYTES + _SIZES.size + U8.size
)
_END_BYTES: Final = 2 * BLOCK_NUMBER_BYTES + U16.size + U8.size
_CLOSED_BYTES: Final = BLOCK_NUMBER_BYTES + U16.size + HASH_BYTES + U8.size


class FirstCodec:
    """FIRST: opens a transfer.

    +-----------+----------+--------+-------+-----------+------+--------+--------+--------------+
    | up choice | up links | up ttl | epoch | object id | kind | repair | length | symbol bytes |
    +-----------+----------+--------+-------+-----------+------+--------+--------+--------------+
      1           31         1        4       16          1      1        8        2
    +--------+---------------+----------------+------+-----------+--------------+-------------+
    | blocks | block symbols | manifest bytes | hold | is signed | [public key] | [signature] |
    +--------+---------------+----------------+------+-----------+--------------+-------------+
      3        2               4                2      1           32             64
    """

    BYTES_MAX: Final = packet_bytes_max(_FIRST_BYTES + PUBLIC_KEY_BYTES + SIGNATURE_BYTES)

    @staticmethod
    def size(body: First) -> int:
        """The size of the body in bytes."""
        return _FIRST_BYTES + len(body.public_key) + len(body.signature)

    @staticmethod
    def write(body: First) -> bytes:
        """Encodes the body."""
        return b"".join(
            (
                U8.pack(body.up_choice),
                write_links(body.up_links),
                U8.pack(body.up_ttl),
                _OBJECT.pack(
                    body.epoch,
                    body.object_id,
                    body.kind,
                    body.repair,
                    body.length_bytes,
                    body.symbol_bytes,
                ),
                write_block_number(body.blocks),
                _SIZES.pack(body.block_symbols, body.manifest_bytes, body.hold_100us),
                write_optional(body.public_key + body.signature),
            )
        )

    @staticmethod
    def read(cursor: Reader) -> First:
        """Decodes the body."""
        up_choice = cursor.unpack_one(U8)
        up_links = read_links(cursor)
        up_ttl = cursor.unpack_one(U8)
        epoch, object_id, kind, repair, length_bytes, symbol_bytes = _OBJECT.unpack(
            cursor.read_bytes(_OBJECT.size)
        )
        blocks = read_block_number(cursor)
        block_symbols, manifest_bytes, hold_100us = cursor.unpack(_SIZES)
        signed = read_optional("is signed", cursor, PUBLIC_KEY_BYTES + SIGNATURE_BYTES)
        return First(
            up_choice=up_choice,
            up_links=up_links,
            up_ttl=up_ttl,
            epoch=epoch,
            object_id=object_id,
            kind=decode_enum(ObjectKind, kind),
            repair=decode_enum(RepairChoice, repair),
            length_bytes=length_bytes,
            symbol_bytes=symbol_bytes,
            blocks=blocks,
            block_symbols=block_symbols,
            manifest_bytes=manifest_bytes,
            hold_100us=hold_100us,
            public_key=signed[:PUBLIC_KEY_BYTES],
            signature=signed[PUBLIC_KEY_BYTES:],
        )


class EndCodec:
    """END: a generation has been sent.

    +-------------+------------+------+-------+
    | first block | last block | hold | count |
    +-------------+------------+------+-------+
      3             3            2      1
    each closed block:
    +-------+---------+--------+-----------+-------------+
    | block | symbols | digest | is signed | [signature] |
    +-------+---------+--------+-----------+-------------+
      3       2         32       1           64
    """

    BYTES_MAX: Final = packet_bytes_max(
        _END_BYTES + STREAM_BLOCKS_MAX * (_CLOSED_BYTES + SIGNATURE_BYTES)
    )

    @staticmethod
    def size(body: End) -> int:
        """The size of the body in bytes."""
        return _END_BYTES + sum([_CLOSED_BYTES + len(each.signature) for each in body.closed])

    @staticmethod
    def write(body: End) -> bytes:
        """Encodes the body."""
        parts = [
            write_block_number(body.first_block),
            write_block_number(body.last_block),
            U16.pack(body.hold_100us),
            U8.pack(len(body.closed)),
        ]
        for each in body.closed:
            parts += (
                write_block_number(each.block),
                U16.pack(each.symbols),
                each.digest,
                write_optional(each.signature),
            )
        return b"".join(parts)

    @staticmethod
    def read(cursor: Reader) -> End:
        """Decodes the body."""
        first_block = read_block_number(cursor)
        last_block = read_block_number(cursor)
        hold_100us = cursor.unpack_one(U16)
        count = cursor.unpack_one(U8)
        return End(
            first_block=first_block,
            last_block=last_block,
            hold_100us=hold_100us,
            closed=tuple([_read_closed(cursor) for _ in range(count)]),
        )


def _read_closed(cursor: Reader) -> ClosedBlock:
    return ClosedBlock(
        block=read_block_number(cursor),
        symbols=cursor.unpack_one(U16),
        digest=cursor.read_bytes(HASH_BYTES),
        signature=read_optional("is signed", cursor, SIGNATURE_BYTES),
    )


class FirstRequestCodec:
    """FIRST_REQ: an end asks its head for FIRST.

    +-------+
    | child |
    +-------+
      4
    """

    BYTES_MAX: Final = packet_bytes_max(U32.size)

    @staticmethod
    def size(_body: FirstRequest) -> int:
        """The size of the body in bytes."""
        return U32.size

    @staticmethod
    def write(body: FirstRequest) -> bytes:
        """Encodes the body."""
        return U32.pack(body.child)

    @staticmethod
    def read(cursor: Reader) -> FirstRequest:
        """Decodes the body."""
        return FirstRequest(child=cursor.unpack_one(U32))


class StopCodec:
    """STOP: the transfer is over.

    +-------+--------+------+-------+--------+
    | bytes | reason | done | count | failed |
    +-------+--------+------+-------+--------+
      2       bytes    4      1       4 each
    """

    BYTES_MAX: Final = packet_bytes_max(
        (U16.size + TEXT_BYTES_MAX) + U32.size + (U8.size + NODE_BYTES * FAILED_MAX)
    )

    @staticmethod
    def size(body: Stop) -> int:
        """The size of the body in bytes."""
        return U16.size + text_bytes(body.reason) + U32.size + size_nodes(body.failed)

    @staticmethod
    def write(body: Stop) -> bytes:
        """Encodes the body."""
        done = U32.pack(body.done)
        return b"".join((write_long_text(body.reason), done, write_nodes(body.failed)))

    @staticmethod
    def read(cursor: Reader) -> Stop:
        """Decodes the body."""
        return Stop(
            reason=read_long_text(cursor),
            done=cursor.unpack_one(U32),
            failed=read_nodes(cursor),
        )
