"""A message on its way: its bytes, and its attributes once somebody has looked at them."""

from __future__ import annotations

from typing import Final

from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.wire.codec.guaranteed.body import read_attributes_of

EVERYTHING: Final = Predicate([Filter()])
NOTHING: Final = Predicate([])


class StreamItem:
    """One message at its tick; attributes are decoded at the first filter that needs them."""

    __slots__ = ("_message", "body", "published_ns", "tick")

    def __init__(self, tick: int, published_ns: int, body: bytes) -> None:
        self.tick: Final = tick
        self.published_ns: Final = published_ns
        self.body: Final = body
        self._message: Message | None = None

    @property
    def message(self) -> Message:
        """What filters look at."""
        if self._message is None:
            self._message = Message.trusted(read_attributes_of(self.body))
        return self._message

    def matches(self, predicate: Predicate) -> bool:
        """Whether it is wanted; a predicate that accepts everything needs no attributes."""
        return is_everything(predicate) or predicate.matches(self.message)


def is_everything(predicate: Predicate) -> bool:
    """Whether it accepts every message."""
    filters = predicate.filters
    return bool(filters) and not filters[0].constraints


def size_of_item(item: StreamItem) -> int:
    """What an item takes in a cache, attributes and overhead included, by and large."""
    return len(item.body) + 200
