"""A message on its way: its bytes, and its attributes once somebody has looked at them."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.wire.codec.guaranteed.body import read_attributes_of

EVERYTHING: Final = Predicate([Filter()])
NOTHING: Final = Predicate([])


class StreamItem(msgspec.Struct, gc=False):
    """One message at its tick; attributes are decoded at the first filter that needs them."""

    tick: int
    published_ns: int
    body: bytes
    _message: Message | None = None

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


def matching(items: list[StreamItem], predicate: Predicate) -> list[StreamItem]:
    """Those that are wanted: the very list, where all of them are."""
    if is_everything(predicate):
        return items
    return [item for item in items if predicate.matches(item.message)]


# Of an item without its bytes: the object, two numbers, its places in a cache, and what allocators
# leave unused between them.
_ITEM_BYTES: Final = 400
# What attributes take once they are decoded, for each byte that they have on the wire.
_DECODED_BYTES: Final = 8


def size_of_item(item: StreamItem) -> int:
    """What an item takes in a cache, decoded attributes and overhead included, by and large."""
    body = item.body
    # A body begins with the length of its attributes, if it is one.
    return len(body) + _ITEM_BYTES + _DECODED_BYTES * int.from_bytes(body[:2])
