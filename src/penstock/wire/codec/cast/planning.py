"""TM_REQ and TM_REP on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.framing import ORIGIN_BYTES, packet_bytes_max, write_origin
from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.planning import (
    SUBSCRIBERS_A_PAGE_MAX,
    VOID_MAX,
    PlanReply,
    PlanRequest,
    VoidBefore,
)

_REQUEST: Final = Struct(">IBBIIIB")
_SUBSCRIBER: Final = Struct(">III")
_REPLY: Final = Struct(">IBB")
_VOID: Final = Struct(">II")


class PlanRequestCodec:
    """TM_REQ: a page of a transfer that is to be planned.

    +---------+------+-------+-----------+----------------+-------+-------+
    | version | page | pages | publisher | publisher boot | epoch | count |
    +---------+------+-------+-----------+----------------+-------+-------+
      4         1      1       4           4                4       1
    each subscriber:
    +------+------+--------+
    | node | boot | number |
    +------+------+--------+
      4      4      4
    """

    BYTES_MAX: Final = packet_bytes_max(_REQUEST.size + ORIGIN_BYTES * SUBSCRIBERS_A_PAGE_MAX)

    @staticmethod
    def size(body: PlanRequest) -> int:
        """The size of the body in bytes."""
        return _REQUEST.size + ORIGIN_BYTES * len(body.subscribers)

    @staticmethod
    def write(body: PlanRequest) -> bytes:
        """Encodes the body."""
        head = _REQUEST.pack(
            body.version,
            body.page,
            body.pages,
            body.publisher,
            body.publisher_boot,
            body.epoch,
            len(body.subscribers),
        )
        return b"".join((head, *map(write_origin, body.subscribers)))

    @staticmethod
    def read(cursor: Reader) -> PlanRequest:
        """Decodes the body."""
        version, page, pages, publisher, boot, epoch, count = cursor.unpack(_REQUEST)
        subscribers = _SUBSCRIBER.iter_unpack(cursor.read_bytes(count * _SUBSCRIBER.size))
        return PlanRequest(
            version=version,
            page=page,
            pages=pages,
            publisher=publisher,
            publisher_boot=boot,
            epoch=epoch,
            subscribers=tuple([Origin(*each) for each in subscribers]),
        )


class PlanReplyCodec:
    """TM_REP: what the map says of a request.

    +---------+----------------------+-------+
    | version | is publisher cut off | count |
    +---------+----------------------+-------+
      4         1                      1
    each node of which all before a start of it is void:
    +------+------+
    | node | boot |
    +------+------+
      4      4
    """

    BYTES_MAX: Final = packet_bytes_max(_REPLY.size + _VOID.size * VOID_MAX)

    @staticmethod
    def size(body: PlanReply) -> int:
        """The size of the body in bytes."""
        return _REPLY.size + _VOID.size * len(body.void)

    @staticmethod
    def write(body: PlanReply) -> bytes:
        """Encodes the body."""
        head = _REPLY.pack(body.version, body.is_publisher_cut_off, len(body.void))
        return b"".join((head, *[_VOID.pack(*each) for each in body.void]))

    @staticmethod
    def read(cursor: Reader) -> PlanReply:
        """Decodes the body."""
        version, is_publisher_cut_off, count = cursor.unpack(_REPLY)
        void = _VOID.iter_unpack(cursor.read_bytes(count * _VOID.size))
        return PlanReply(
            version=version,
            is_publisher_cut_off=decode_flag("is publisher cut off", is_publisher_cut_off),
            void=tuple([VoidBefore(*each) for each in void]),
        )
