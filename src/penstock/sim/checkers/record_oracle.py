"""The messages that a record certainly reveals to an endpoint, which it must then miss.

Decided from the messages themselves, which the endpoint cannot see. Entries that need not
reveal a message, such as a range, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.content.message import Message
from penstock.content.tags import Encoder, is_exactly_encodable
from penstock.kernel.sequence import SEQ
from penstock.sim.checkers.endpoint_history import (
    EndpointHistory,
    MessageArrival,
    Reported,
    SubscriptionHistory,
)
from penstock.wire.frames.data import Data, MessageId


def reported_by_record(
    history: EndpointHistory,
    subscription: SubscriptionHistory,
    arrival: MessageArrival,
    published: Mapping[MessageId, Data],
) -> Iterator[Reported]:
    """Messages that this arrival's record reveals, above the highest that arrived before."""
    encoder = history.machine.encoder
    frame, image, stream_state = (
        arrival.frame,
        arrival.image,
        subscription.stream_states[arrival.image],
    )
    count = min(
        frame.record.count,
        subscription.ordering.record_used,
        arrival.extended_seq - stream_state.highest_received - 1,
    )
    for i in range(count):
        extended_seq = arrival.extended_seq - 1 - i
        if extended_seq in image.received:
            continue
        message_id = MessageId(frame.pub, frame.epoch, extended_seq & SEQ.mask)
        if _is_certain_match(frame, i, subscription, published[message_id].message, encoder):
            yield Reported(
                subscription, image, extended_seq, history.machine.counters["missing_overflow"]
            )


def _is_certain_match(
    frame: Data, i: int, subscription: SubscriptionHistory, message: Message, encoder: Encoder
) -> bool:
    """Whether entry i must reveal that the message matches this subscription."""
    packed, bloom = frame.record.packed(i), subscription.ordering.bloom
    matching = [f for f in subscription.predicate.filters if f.matches(message)]
    if frame.has_bloom_entries:
        # Sets of another size reveal nothing.
        return bool(matching) and len(packed) == (bloom or encoder.params).m + 7 >> 3
    if not packed:
        return False
    if bloom is not None:
        return bool(matching)
    return any(is_exactly_encodable(f, encoder.schema) for f in matching)
