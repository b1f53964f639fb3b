"""HELLO and PING on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import (
    PAIR_BYTES,
    read_ranges,
    read_text,
    size_text,
    write_pairs,
    write_text,
)
from penstock.wire.codec.reader import Reader, check_flags
from penstock.wire.frames.guaranteed.base import (
    ADDRESS_BYTES_MAX,
    DEAD_RANGES_MAX,
    NAME_BYTES_MAX,
    PUBENDS_MAX,
)
from penstock.wire.frames.guaranteed.hello import ALL_ROLES, Announcement, Hello, Ping, Role

_HELLO: Final = Struct(">QBQH")
_ANNOUNCEMENT: Final = Struct(">QQBB")
_ANNOUNCEMENT_BYTES_MAX: Final = (
    _ANNOUNCEMENT.size + 1 + NAME_BYTES_MAX + 1 + ADDRESS_BYTES_MAX + PAIR_BYTES * DEAD_RANGES_MAX
)


class HelloCodec:
    """HELLO: who the sender is and what it can serve.

    +------+-------+-------+---------+-------+--------+
    | life | roles | token | pubends | bytes | broker |
    +------+-------+-------+---------+-------+--------+
      8      1       8       2         1       bytes
    each pubend:
    +--------+-------+----------+--------+-------+--------+-------+---------+-------------+
    | pubend | lease | distance | ranges | bytes | stream | bytes | address | dead ranges |
    +--------+-------+----------+--------+-------+--------+-------+---------+-------------+
      8        8       1          1        1       bytes    1       bytes     ranges x 16
    """

    BYTES_MAX: Final = (
        BODY_OFFSET + _HELLO.size + 1 + NAME_BYTES_MAX + PUBENDS_MAX * _ANNOUNCEMENT_BYTES_MAX
    )

    @staticmethod
    def size(frame: Hello) -> int:
        """The size of the body in bytes."""
        return (
            _HELLO.size
            + size_text(frame.broker)
            + sum(
                _ANNOUNCEMENT.size
                + size_text(own.stream)
                + size_text(own.address)
                + PAIR_BYTES * len(own.dead_ranges)
                for own in frame.pubends
            )
        )

    @staticmethod
    def write(frame: Hello) -> bytes:
        """Encodes the body."""
        parts = [
            _HELLO.pack(frame.life, frame.roles, frame.token, len(frame.pubends)),
            write_text(frame.broker),
        ]
        for own in frame.pubends:
            parts += (
                _ANNOUNCEMENT.pack(own.pubend, own.lease, own.distance, len(own.dead_ranges)),
                write_text(own.stream),
                write_text(own.address),
                write_pairs(own.dead_ranges),
            )
        return b"".join(parts)

    @staticmethod
    def read(data: bytes) -> Hello:
        """Decodes a whole frame."""
        cursor = Reader(data)
        life, roles, token, count = cursor.unpack(_HELLO)
        broker = read_text(cursor)
        pubends = tuple([_read_announcement(cursor) for _ in range(count)])
        cursor.expect_end()
        return Hello(
            broker=broker,
            life=life,
            roles=Role(check_flags(roles, ALL_ROLES)),
            token=token,
            pubends=pubends,
        )


def _read_announcement(cursor: Reader) -> Announcement:
    pubend, lease, distance, ranges = cursor.unpack(_ANNOUNCEMENT)
    return Announcement(
        pubend=pubend,
        lease=lease,
        distance=distance,
        stream=read_text(cursor),
        address=read_text(cursor),
        dead_ranges=read_ranges(cursor, ranges),
    )


class PingCodec:
    """PING has no body."""

    BYTES_MAX: Final = BODY_OFFSET

    @staticmethod
    def size(_frame: Ping) -> int:
        """The size of the body in bytes."""
        return 0

    @staticmethod
    def write(_frame: Ping) -> bytes:
        """Encodes the body."""
        return b""

    @staticmethod
    def read(data: bytes) -> Ping:
        """Decodes a whole frame."""
        Reader(data).expect_end()
        return Ping()
