"""Messages of one pubend as frames for a client, many in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.guaranteed.stream_item import StreamItem
from penstock.wire.frames.guaranteed.base import MESSAGES_MAX
from penstock.wire.frames.guaranteed.subscription import HandOut

# Of one frame, unless it has a single message: so little that the client can begin with it while
# the rest is written.
_FRAME_BYTES: Final = 64 << 10


def hand_outs(subscription: int, pubend: int, items: list[StreamItem]) -> Iterator[HandOut]:
    """The frames that hand out messages which nobody has had before."""
    start = size_bytes = 0
    for place, item in enumerate(items):
        size_bytes += len(item.body)
        if place > start and (size_bytes > _FRAME_BYTES or place - start >= MESSAGES_MAX):
            yield _hand_out(subscription, pubend, items[start:place])
            start, size_bytes = place, len(item.body)
    yield _hand_out(subscription, pubend, items[start:] if start else items)


def _hand_out(subscription: int, pubend: int, items: list[StreamItem]) -> HandOut:
    return HandOut(
        subscription=subscription,
        pubend=pubend,
        attempt=1,
        ticks=tuple([item.tick for item in items]),
        published_ns=tuple([item.published_ns for item in items]),
        bodies=tuple([item.body for item in items]),
    )
