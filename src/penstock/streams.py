"""Guaranteed streams: every message on disk, once and in order, for durable subscribers.

So far the types that streams share with the other services; each is loaded on first access.
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
    from penstock.api.position import Position
    from penstock.api.publisher import Publisher
    from penstock.api.retention import Retention
    from penstock.api.stream_info import Holder, StreamInfo
    from penstock.api.stream_message import StreamMessage

_HOMES = {
    "ClosedError": "errors",
    "Confirmation": "confirmation",
    "DurableError": "errors",
    "DurableInfo": "durable_info",
    "Fate": "message",
    "Feed": "feed",
    "Filter": "filter",
    "FilterIndex": "filter_index",
    "FilterSyntaxError": "errors",
    "GapError": "errors",
    "Holder": "stream_info",
    "Lag": "durable_info",
    "Loss": "loss",
    "Message": "message",
    "MessageId": "message",
    "NotConfirmedError": "errors",
    "Opening": "opening",
    "PenstockError": "errors",
    "PoisonError": "errors",
    "Position": "position",
    "Publisher": "publisher",
    "RefusedError": "errors",
    "Retention": "retention",
    "StreamInfo": "stream_info",
    "StreamMessage": "stream_message",
    "TooLargeError": "errors",
    "UnreachableError": "errors",
    "UsageError": "errors",
}

__all__ = [
    "ClosedError",
    "Confirmation",
    "DurableError",
    "DurableInfo",
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
    "PenstockError",
    "PoisonError",
    "Position",
    "Publisher",
    "RefusedError",
    "Retention",
    "StreamInfo",
    "StreamMessage",
    "TooLargeError",
    "UnreachableError",
    "UsageError",
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

        found = globals()[name] = getattr(import_module(f"penstock.api.{home}"), name)
        return found
