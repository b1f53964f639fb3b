"""Which numbers a record told an endpoint of, beyond doubt: these must be missed.

Judged by the messages themselves, which the endpoint cannot see. Of what a record
may tell or not, such as a range, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.content.message import Message
from penstock.content.tags import Encoder, is_exactly_encodable
from penstock.sim.checkers.endpoint_history import Asked, Came, Life, Told
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.serial import SEQ_BITS


def by_record(
    life: Life, asked: Asked, came: Came, published: Mapping[MessageId, Data]
) -> Iterator[Told]:
    """What the record of a message tells of the numbers since the highest that came."""
    encoder = life.machine._encoder
    frame, heard, track = came.frame, came.heard, asked.tracks[came.heard]
    back = min(frame.record.count, asked.ordering.record_used, came.number - track.top - 1)
    for i in range(back):
        number = came.number - 1 - i
        if number in heard.numbers:
            continue
        name = MessageId(frame.pub, frame.epoch, number & (1 << SEQ_BITS) - 1)
        if _is_told(frame, i, asked, published[name].message, encoder):
            yield Told(asked, heard, number, life.machine.counters["missing_overflow"])


def _is_told(frame: Data, i: int, asked: Asked, message: Message, encoder: Encoder) -> bool:
    """Whether entry i cannot but say that the message is for this subscription."""
    packed, bloom = frame.record.packed(i), asked.ordering.bloom
    matching = [f for f in asked.predicate.filters if f.matches(message)]
    if frame.has_bloom_entries:
        # Sets of another size tell nothing.
        return bool(matching) and len(packed) == (bloom or encoder.params).m + 7 >> 3
    if not packed:
        return False
    if bloom is not None:
        return bool(matching)
    return any(is_exactly_encodable(f, encoder.schema) for f in matching)
