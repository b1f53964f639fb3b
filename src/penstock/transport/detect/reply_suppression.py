"""Suppresses duplicate replies when many endpoints request the same item at about the same time.

The reply goes to all subscribers once. For one hold-down period after it, first requests from other
endpoints are ignored, because they crossed the reply. An endpoint that requests the item again did
not receive the reply, and gets a unicast one. This module does not know what the items are.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Duration, Instant

_ITEMS_MAX: Final = 4_096
# Requesters stored for each item; a repeated request of any other counts as its first.
_REQUESTERS_MAX: Final = 64


class Audience(Enum):
    """To whom a reply goes."""

    ALL = "all"
    REQUESTER = "asker"
    NONE = "nobody"


class _RequestedItem:
    __slots__ = ("replied_to_all_at", "requesters")

    def __init__(self) -> None:
        # A second request from one of these means that it did not receive the reply.
        self.requesters: Final[set[int]] = set()
        self.replied_to_all_at: Instant | None = None


class ReplySuppression:
    """Decides the audience of replies, by the sequence number of the requested item.

    With `unicast_first` the first requester gets a unicast reply, for items that often have only
    one requester; the reply to the second requester goes to all.
    """

    def __init__(self, *, unicast_first: bool = False) -> None:
        self._unicast_first: Final = unicast_first
        self._items: Final[BoundedDict[int, _RequestedItem]] = BoundedDict(_ITEMS_MAX)

    def __len__(self) -> int:
        return len(self._items)

    def audience(self, seq: int, requester: int, hold_down_ns: Duration, now: Instant) -> Audience:
        """Record a request for item `seq` and return to whom the reply goes."""
        item = self._items.get(seq)
        is_first = item is None
        if item is None:
            item = self._items[seq] = _RequestedItem()
        is_repeated = requester in item.requesters
        if len(item.requesters) < _REQUESTERS_MAX:
            item.requesters.add(requester)
        if item.replied_to_all_at is None:
            if is_repeated or (is_first and self._unicast_first):
                return Audience.REQUESTER
            item.replied_to_all_at = now
            return Audience.ALL
        if is_repeated or now >= item.replied_to_all_at + hold_down_ns:
            return Audience.REQUESTER
        return Audience.NONE
