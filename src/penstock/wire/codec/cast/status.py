"""STATUS, QUERY and ANSWER on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.fields import (
    BLOCK_NUMBER_BYTES,
    read_block_number,
    write_block_number,
)
from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.guaranteed.fields import (
    read_long_text,
    read_text,
    size_text,
    write_long_text,
    write_text,
)
from penstock.wire.codec.reader import U8, U16, U32, Reader, decode_enum
from penstock.wire.frames.cast.base import NAME_BYTES_MAX, TEXT_BYTES_MAX
from penstock.wire.frames.cast.status import (
    ROWS_MAX,
    Query,
    QueryAnswer,
    QueryKind,
    ReceiverState,
    Status,
)
from penstock.wire.frames.texts import text_bytes

_RATE_AND_STATE: Final = Struct(">IB")
_STATUS_BYTES: Final = U32.size + BLOCK_NUMBER_BYTES + _RATE_AND_STATE.size + U16.size
_QUERY: Final = Struct(">BI")
_ANSWER: Final = Struct(">IBBB")


class StatusCodec:
    """STATUS: how far a receiver is.

    +------+-------+------+-------------+------+-------+-------+-------+
    | node | bytes | name | blocks done | rate | state | bytes | error |
    +------+-------+------+-------------+------+-------+-------+-------+
      4      1       bytes  3             4      1       2       bytes
    """

    BYTES_MAX: Final = packet_bytes_max(_STATUS_BYTES + (U8.size + NAME_BYTES_MAX) + TEXT_BYTES_MAX)

    @staticmethod
    def size(body: Status) -> int:
        """The size of the body in bytes."""
        return _STATUS_BYTES + size_text(body.name) + text_bytes(body.error)

    @staticmethod
    def write(body: Status) -> bytes:
        """Encodes the body."""
        return b"".join(
            (
                U32.pack(body.node),
                write_text(body.name),
                write_block_number(body.blocks_done),
                _RATE_AND_STATE.pack(body.rate_bps, body.state),
                write_long_text(body.error),
            )
        )

    @staticmethod
    def read(cursor: Reader) -> Status:
        """Decodes the body."""
        node = cursor.unpack_one(U32)
        name = read_text(cursor)
        blocks_done = read_block_number(cursor)
        rate_bps, state = cursor.unpack(_RATE_AND_STATE)
        return Status(
            node=node,
            name=name,
            blocks_done=blocks_done,
            rate_bps=rate_bps,
            state=decode_enum(ReceiverState, state),
            error=read_long_text(cursor),
        )


class QueryCodec:
    """QUERY: a question to the controller.

    +------+--------+
    | kind | serial |
    +------+--------+
      1      4
    """

    BYTES_MAX: Final = packet_bytes_max(_QUERY.size)

    @staticmethod
    def size(_body: Query) -> int:
        """The size of the body in bytes."""
        return _QUERY.size

    @staticmethod
    def write(body: Query) -> bytes:
        """Encodes the body."""
        return _QUERY.pack(body.kind, body.serial)

    @staticmethod
    def read(cursor: Reader) -> Query:
        """Decodes the body."""
        kind, serial = cursor.unpack(_QUERY)
        return Query(kind=decode_enum(QueryKind, kind), serial=serial)


class AnswerCodec:
    """ANSWER: a page of rows.

    +--------+------+-------+-------+        +-------+------+
    | serial | page | pages | count |  each  | bytes | text |
    +--------+------+-------+-------+  row:  +-------+------+
      4        1      1       1                2       bytes
    """

    # Of the longest rows two fit one frame.
    BYTES_MAX: Final = packet_bytes_max(_ANSWER.size + ROWS_MAX * (U16.size + TEXT_BYTES_MAX))

    @staticmethod
    def size(body: QueryAnswer) -> int:
        """The size of the body in bytes."""
        return _ANSWER.size + sum([U16.size + text_bytes(row) for row in body.rows])

    @staticmethod
    def write(body: QueryAnswer) -> bytes:
        """Encodes the body."""
        head = _ANSWER.pack(body.serial, body.page, body.pages, len(body.rows))
        return b"".join([head, *map(write_long_text, body.rows)])

    @staticmethod
    def read(cursor: Reader) -> QueryAnswer:
        """Decodes the body."""
        serial, page, pages, count = cursor.unpack(_ANSWER)
        rows = tuple([read_long_text(cursor) for _ in range(count)])
        return QueryAnswer(serial=serial, page=page, pages=pages, rows=rows)
