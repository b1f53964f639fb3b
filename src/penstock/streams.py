"""Guaranteed streams: every message on disk, once and in order, for durable subscribers.

    async with penstock.streams.connect() as node:
        orders = node.stream("orders", create=True)
        await orders.publish({"symbol": "IBM", "qty": 100})

Each name is loaded on first access.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.confirmation import Confirmation
    from penstock.api.durable_info import DurableInfo, Lag
    from penstock.api.errors import (
        ClosedError,
        DurableError,
        FilterSyntaxError,
        GapError,
        NotConfirmedError,
        PenstockError,
        PoisonError,
        RefusedError,
        TooLargeError,
        UnreachableError,
        UsageError,
    )
    from penstock.api.feed import Feed
    from penstock.api.filter import Filter
    from penstock.api.filter_index import FilterIndex
    from penstock.api.loss import Loss
    from penstock.api.message import Fate, Message, MessageId
    from penstock.api.opening import Opening
    from penstock.api.parked_message import ParkedMessage
    from penstock.api.position import Position
    from penstock.api.publisher import Publisher
    from penstock.api.retention import Retention
    from penstock.api.stream_info import Holder, StreamInfo
    from penstock.api.stream_message import StreamMessage
    from penstock.api.stream_statistics import DurableStatistics, StreamNodeStatistics
    from penstock.live.guaranteed.durables import Parked
    from penstock.live.guaranteed.node import StreamNode, connect
    from penstock.live.guaranteed.pending import Pending
    from penstock.live.guaranteed.stream import Stream
    from penstock.live.guaranteed.subscription import StreamSubscription

_HOMES = {
    "ClosedError": "api.errors",
    "Confirmation": "api.confirmation",
    "DurableError": "api.errors",
    "DurableInfo": "api.durable_info",
    "DurableStatistics": "api.stream_statistics",
    "Fate": "api.message",
    "Feed": "api.feed",
    "Filter": "api.filter",
    "FilterIndex": "api.filter_index",
    "FilterSyntaxError": "api.errors",
    "GapError": "api.errors",
    "Holder": "api.stream_info",
    "Lag": "api.durable_info",
    "Loss": "api.loss",
    "Message": "api.message",
    "MessageId": "api.message",
    "NotConfirmedError": "api.errors",
    "Opening": "api.opening",
    "Parked": "live.guaranteed.durables",
    "ParkedMessage": "api.parked_message",
    "Pending": "live.guaranteed.pending",
    "PenstockError": "api.errors",
    "PoisonError": "api.errors",
    "Position": "api.position",
    "Publisher": "api.publisher",
    "RefusedError": "api.errors",
    "Retention": "api.retention",
    "Stream": "live.guaranteed.stream",
    "StreamInfo": "api.stream_info",
    "StreamMessage": "api.stream_message",
    "StreamNode": "live.guaranteed.node",
    "StreamNodeStatistics": "api.stream_statistics",
    "StreamSubscription": "live.guaranteed.subscription",
    "TooLargeError": "api.errors",
    "UnreachableError": "api.errors",
    "UsageError": "api.errors",
    "connect": "live.guaranteed.node",
}

__all__ = [
    "ClosedError",
    "Confirmation",
    "DurableError",
    "DurableInfo",
    "DurableStatistics",
    "Fate",
    "Feed",
    "Filter",
    "FilterIndex",
    "FilterSyntaxError",
    "GapError",
    "Holder",
    "Lag",
    "Loss",
    "Message",
    "MessageId",
    "NotConfirmedError",
    "Opening",
    "Parked",
    "ParkedMessage",
    "Pending",
    "PenstockError",
    "PoisonError",
    "Position",
    "Publisher",
    "RefusedError",
    "Retention",
    "Stream",
    "StreamInfo",
    "StreamMessage",
    "StreamNode",
    "StreamNodeStatistics",
    "StreamSubscription",
    "TooLargeError",
    "UnreachableError",
    "UsageError",
    "connect",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # a checker would take every name for one that is here

    def __getattr__(name: str) -> object:
        """From its home, once."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"penstock.{home}"), name)
        return found
