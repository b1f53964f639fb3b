"""The frames of a subscription on the wire. MESSAGES packs and unpacks columns in one call."""

from __future__ import annotations

from struct import Struct, pack, unpack_from
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import (
    PAIR_BYTES,
    bodies_at,
    read_long_text,
    read_positions,
    read_predicate,
    read_text,
    size_positions,
    size_text,
    write_long_text,
    write_positions,
    write_predicate,
    write_text,
)
from penstock.wire.codec.reader import U16, Reader, check_flags, decode_enum, decode_flag
from penstock.wire.frames.guaranteed.base import (
    MESSAGE_BYTES_MAX,
    MESSAGES_MAX,
    NAME_BYTES_MAX,
    POSITIONS_MAX,
    PREDICATE_BYTES_MAX,
    STREAMS_MAX,
    TEXT_BYTES_MAX,
    GapReason,
    Start,
    StartKind,
)
from penstock.wire.frames.guaranteed.subscription import (
    ALL_ATTACH_FLAGS,
    Attach,
    Attached,
    AttachFlags,
    Detach,
    Fail,
    Forget,
    GapNotice,
    HandOut,
)
from penstock.wire.frames.texts import text_bytes

_NAME_FIELD_BYTES_MAX: Final = 1 + NAME_BYTES_MAX
_POSITIONS_BYTES_MAX: Final = U16.size + PAIR_BYTES * POSITIONS_MAX
_ATTACH: Final = Struct(">IBIIBQB")
_ATTACHED: Final = Struct(">IB")
_MESSAGES: Final = Struct(">IQIH")
_MESSAGES_END: Final = BODY_OFFSET + _MESSAGES.size
# Of a message: its tick, its time and its size.
_MESSAGE_BYTES: Final = 8 + 8 + 4
_GAP: Final = Struct(">IQQQQB")
_FAIL: Final = Struct(">IQQ")
_DETACH: Final = Struct(">IB")


class AttachCodec:
    """ATTACH: opens a subscription.

        +--------------+-------+--------------+----------+------+-------+---------+
        | subscription | flags | attempts_max | expire_s | kind | value | streams |
        +--------------+-------+--------------+----------+------+-------+---------+
          4              1       4              4          1      8       1
        +-------+---------+-------+--------+     +-------+-----------+-----------+
        | bytes | durable | bytes | stream | ... | count | positions | predicate |
        +-------+---------+-------+--------+     +-------+-----------+-----------+
          1       bytes     1       bytes          2       count x 16  see codec/filter.py

    Kind and value are the start.
    """

    BYTES_MAX: Final = (
        BODY_OFFSET
        + _ATTACH.size
        + (1 + STREAMS_MAX) * _NAME_FIELD_BYTES_MAX
        + _POSITIONS_BYTES_MAX
        + PREDICATE_BYTES_MAX
    )

    @staticmethod
    def size(frame: Attach) -> int:
        """The size of the body in bytes."""
        return (
            _ATTACH.size
            + size_text(frame.durable)
            + sum(map(size_text, frame.streams))
            + size_positions(frame.positions)
            + len(write_predicate(frame.predicate))
        )

    @staticmethod
    def write(frame: Attach) -> bytes:
        """Encodes the body."""
        head = _ATTACH.pack(
            frame.subscription,
            frame.flags,
            frame.attempts_max,
            frame.expire_s,
            *frame.start,
            len(frame.streams),
        )
        return b"".join(
            (
                head,
                write_text(frame.durable),
                *map(write_text, frame.streams),
                write_positions(frame.positions),
                write_predicate(frame.predicate),
            )
        )

    @staticmethod
    def read(data: bytes) -> Attach:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, flags, attempts_max, expire_s, kind, value, count = cursor.unpack(_ATTACH)
        durable = read_text(cursor)
        streams = tuple([read_text(cursor) for _ in range(count)])
        positions = read_positions(cursor)
        predicate = read_predicate(cursor)
        cursor.expect_end()
        return Attach(
            subscription=subscription,
            durable=durable,
            streams=streams,
            predicate=predicate,
            start=Start(decode_enum(StartKind, kind), value),
            flags=AttachFlags(check_flags(flags, ALL_ATTACH_FLAGS)),
            attempts_max=attempts_max,
            expire_s=expire_s,
            positions=positions,
        )


class AttachedCodec:
    """ATTACHED: the subscription is open.

    +--------------+---------+-------+------------+
    | subscription | resumed | count | positions  |
    +--------------+---------+-------+------------+
      4              1         2       count x 16
    """

    BYTES_MAX: Final = BODY_OFFSET + _ATTACHED.size + _POSITIONS_BYTES_MAX

    @staticmethod
    def size(frame: Attached) -> int:
        """The size of the body in bytes."""
        return _ATTACHED.size + size_positions(frame.positions)

    @staticmethod
    def write(frame: Attached) -> bytes:
        """Encodes the body."""
        head = _ATTACHED.pack(frame.subscription, frame.resumed)
        return head + write_positions(frame.positions)

    @staticmethod
    def read(data: bytes) -> Attached:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, resumed = cursor.unpack(_ATTACHED)
        positions = read_positions(cursor)
        cursor.expect_end()
        return Attached(
            subscription=subscription,
            resumed=decode_flag("resumed", resumed),
            positions=positions,
        )


class HandOutCodec:
    """MESSAGES: the next messages of a subscription.

    +--------------+--------+---------+-------+-----------+--------------+-----------+------------+
    | subscription | pubend | attempt | count | ticks     | published_ns | sizes     | bodies ... |
    +--------------+--------+---------+-------+-----------+--------------+-----------+------------+
      4              8        4         2       count x 8   count x 8      count x 4
    """

    BYTES_MAX: Final = _MESSAGES_END + MESSAGES_MAX * _MESSAGE_BYTES + MESSAGE_BYTES_MAX

    @staticmethod
    def size(frame: HandOut) -> int:
        """The size of the body in bytes."""
        bodies = frame.bodies
        return _MESSAGES.size + len(bodies) * _MESSAGE_BYTES + sum(map(len, bodies))

    @staticmethod
    def write(frame: HandOut) -> bytes:
        """Encodes the body."""
        bodies = frame.bodies
        count = len(bodies)
        head = _MESSAGES.pack(frame.subscription, frame.pubend, frame.attempt, count)
        sizes = map(len, bodies)
        columns = pack(f">{2 * count}Q{count}I", *frame.ticks, *frame.published_ns, *sizes)
        return b"".join((head, columns, *bodies))

    @staticmethod
    def read(data: bytes) -> HandOut:
        """Decodes a whole frame."""
        subscription, pubend, attempt, count = _MESSAGES.unpack_from(data, BODY_OFFSET)
        columns = unpack_from(f">{2 * count}Q{count}I", data, _MESSAGES_END)
        bodies_start = _MESSAGES_END + count * _MESSAGE_BYTES
        return HandOut(
            subscription=subscription,
            pubend=pubend,
            attempt=attempt,
            ticks=columns[:count],
            published_ns=columns[count : 2 * count],
            bodies=bodies_at(data, bodies_start, columns[2 * count :]),
        )


class GapNoticeCodec:
    """GAP to a client: messages are gone.

    +--------------+--------+-------+------+----------+--------+
    | subscription | pubend | start | stop | messages | reason |
    +--------------+--------+-------+------+----------+--------+
      4              8        8       8      8          1
    """

    BYTES_MAX: Final = BODY_OFFSET + _GAP.size

    @staticmethod
    def size(_frame: GapNotice) -> int:
        """The size of the body in bytes."""
        return _GAP.size

    @staticmethod
    def write(frame: GapNotice) -> bytes:
        """Encodes the body."""
        return _GAP.pack(
            frame.subscription, frame.pubend, frame.start, frame.stop, frame.messages, frame.reason
        )

    @staticmethod
    def read(data: bytes) -> GapNotice:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, pubend, start, stop, messages, reason = cursor.unpack(_GAP)
        cursor.expect_end()
        return GapNotice(
            subscription=subscription,
            pubend=pubend,
            start=start,
            stop=stop,
            reason=decode_enum(GapReason, reason),
            messages=messages,
        )


class FailCodec:
    """FAIL: the application could not deal with a message.

    +--------------+--------+------+-------+--------+
    | subscription | pubend | tick | bytes | reason |
    +--------------+--------+------+-------+--------+
      4              8        8      2       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _FAIL.size + U16.size + TEXT_BYTES_MAX

    @staticmethod
    def size(frame: Fail) -> int:
        """The size of the body in bytes."""
        return _FAIL.size + U16.size + text_bytes(frame.reason)

    @staticmethod
    def write(frame: Fail) -> bytes:
        """Encodes the body."""
        head = _FAIL.pack(frame.subscription, frame.pubend, frame.tick)
        return head + write_long_text(frame.reason)

    @staticmethod
    def read(data: bytes) -> Fail:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, pubend, tick = cursor.unpack(_FAIL)
        reason = read_long_text(cursor)
        cursor.expect_end()
        return Fail(subscription=subscription, pubend=pubend, tick=tick, reason=reason)


class DetachCodec:
    """DETACH: ends reading.

    +--------------+-------+
    | subscription | clean |
    +--------------+-------+
      4              1
    """

    BYTES_MAX: Final = BODY_OFFSET + _DETACH.size

    @staticmethod
    def size(_frame: Detach) -> int:
        """The size of the body in bytes."""
        return _DETACH.size

    @staticmethod
    def write(frame: Detach) -> bytes:
        """Encodes the body."""
        return _DETACH.pack(frame.subscription, frame.is_clean)

    @staticmethod
    def read(data: bytes) -> Detach:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, is_clean = cursor.unpack(_DETACH)
        cursor.expect_end()
        return Detach(subscription=subscription, is_clean=decode_flag("clean", is_clean))


class ForgetCodec:
    """FORGET: deletes a durable subscription.

    +-------+---------+
    | bytes | durable |
    +-------+---------+
      1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: Forget) -> int:
        """The size of the body in bytes."""
        return size_text(frame.durable)

    @staticmethod
    def write(frame: Forget) -> bytes:
        """Encodes the body."""
        return write_text(frame.durable)

    @staticmethod
    def read(data: bytes) -> Forget:
        """Decodes a whole frame."""
        cursor = Reader(data)
        durable = read_text(cursor)
        cursor.expect_end()
        return Forget(durable=durable)
