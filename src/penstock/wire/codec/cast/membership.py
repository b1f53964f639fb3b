"""ADVERTISE, SUBSCRIBE and UNSUBSCRIBE on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.fields import read_optional, write_optional
from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.guaranteed.fields import (
    read_long_text,
    read_text,
    size_text,
    write_long_text,
    write_text,
)
from penstock.wire.codec.reader import U8, U16, U32, Reader, decode_enum
from penstock.wire.frames.cast.base import NAME_BYTES_MAX, OBJECT_ID_BYTES, TEXT_BYTES_MAX
from penstock.wire.frames.cast.membership import Advertise, ObjectKind, Subscribe, Unsubscribe
from penstock.wire.frames.texts import text_bytes

_ADVERTISE: Final = Struct(f">II{OBJECT_ID_BYTES}sBQII")


class AdvertiseCodec:
    """ADVERTISE: a node has the item of the header.

    +-----------+-------+-----------+------+--------+-----------+---------+
    | publisher | epoch | object id | kind | length | receivers | wait ms |
    +-----------+-------+-----------+------+--------+-----------+---------+
      4           4       16          1      8        4           4
    """

    BYTES_MAX: Final = packet_bytes_max(_ADVERTISE.size)

    @staticmethod
    def size(_body: Advertise) -> int:
        """The size of the body in bytes."""
        return _ADVERTISE.size

    @staticmethod
    def write(body: Advertise) -> bytes:
        """Encodes the body."""
        return _ADVERTISE.pack(
            body.publisher,
            body.epoch,
            body.object_id,
            body.kind,
            body.length_bytes,
            body.receivers,
            body.wait_ms,
        )

    @staticmethod
    def read(cursor: Reader) -> Advertise:
        """Decodes the body."""
        publisher, epoch, object_id, kind, length_bytes, receivers, wait_ms = _ADVERTISE.unpack(
            cursor.read_bytes(_ADVERTISE.size)
        )
        return Advertise(
            publisher=publisher,
            epoch=epoch,
            object_id=object_id,
            kind=decode_enum(ObjectKind, kind),
            length_bytes=length_bytes,
            receivers=receivers,
            wait_ms=wait_ms,
        )


class SubscribeCodec:
    """SUBSCRIBE: a node wants the item of the header.

    +------------+-------+------+---------------+-------------+
    | subscriber | bytes | name | has object id | [object id] |
    +------------+-------+------+---------------+-------------+
      4            1       bytes  1               16
    """

    BYTES_MAX: Final = packet_bytes_max(
        U32.size + (U8.size + NAME_BYTES_MAX) + (U8.size + OBJECT_ID_BYTES)
    )

    @staticmethod
    def size(body: Subscribe) -> int:
        """The size of the body in bytes."""
        return U32.size + size_text(body.name) + U8.size + len(body.object_id)

    @staticmethod
    def write(body: Subscribe) -> bytes:
        """Encodes the body."""
        subscriber = U32.pack(body.subscriber)
        return b"".join((subscriber, write_text(body.name), write_optional(body.object_id)))

    @staticmethod
    def read(cursor: Reader) -> Subscribe:
        """Decodes the body."""
        return Subscribe(
            subscriber=cursor.unpack_one(U32),
            name=read_text(cursor),
            object_id=read_optional("has object id", cursor, OBJECT_ID_BYTES),
        )


class UnsubscribeCodec:
    """UNSUBSCRIBE: a node leaves before the end.

    +------------+-------+--------+
    | subscriber | bytes | reason |
    +------------+-------+--------+
      4            2       bytes
    """

    BYTES_MAX: Final = packet_bytes_max(U32.size + U16.size + TEXT_BYTES_MAX)

    @staticmethod
    def size(body: Unsubscribe) -> int:
        """The size of the body in bytes."""
        return U32.size + U16.size + text_bytes(body.reason)

    @staticmethod
    def write(body: Unsubscribe) -> bytes:
        """Encodes the body."""
        return U32.pack(body.subscriber) + write_long_text(body.reason)

    @staticmethod
    def read(cursor: Reader) -> Unsubscribe:
        """Decodes the body."""
        return Unsubscribe(subscriber=cursor.unpack_one(U32), reason=read_long_text(cursor))
