"""POISON on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import read_long_text, write_long_text
from penstock.wire.codec.reader import U16, Reader
from penstock.wire.frames.guaranteed.base import MESSAGE_BYTES_MAX, TEXT_BYTES_MAX
from penstock.wire.frames.guaranteed.poison import REASONS_MAX, Poison
from penstock.wire.frames.texts import text_bytes

_POISON: Final = Struct(">IQQQIB")


class PoisonCodec:
    """POISON: a message that was handed out too often.

    +--------------+--------+------+--------------+----------+-------+
    | subscription | pubend | tick | published_ns | attempts | count |
    +--------------+--------+------+--------------+----------+-------+
      4              8        8      8              4          1
    +-------+--------+     +-------------------------+
    | bytes | reason | ... | body, up to the end ... |
    +-------+--------+     +-------------------------+
      2       bytes
    """

    BYTES_MAX: Final = (
        BODY_OFFSET + _POISON.size + REASONS_MAX * (U16.size + TEXT_BYTES_MAX) + MESSAGE_BYTES_MAX
    )

    @staticmethod
    def size(frame: Poison) -> int:
        """The size of the body in bytes."""
        reasons = sum(U16.size + text_bytes(reason) for reason in frame.reasons)
        return _POISON.size + reasons + len(frame.body)

    @staticmethod
    def write(frame: Poison) -> bytes:
        """Encodes the body."""
        head = _POISON.pack(
            frame.subscription,
            frame.pubend,
            frame.tick,
            frame.published_ns,
            frame.attempts,
            len(frame.reasons),
        )
        return b"".join((head, *map(write_long_text, frame.reasons), frame.body))

    @staticmethod
    def read(data: bytes) -> Poison:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, pubend, tick, published_ns, attempts, count = cursor.unpack(_POISON)
        reasons = tuple([read_long_text(cursor) for _ in range(count)])
        return Poison(
            subscription=subscription,
            pubend=pubend,
            tick=tick,
            published_ns=published_ns,
            attempts=attempts,
            reasons=reasons,
            body=data[cursor.position :],
        )
