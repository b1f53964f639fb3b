"""What many ask for at about the same time: told to all once, and to who asks again alone.

For a while after it was told to all, others who ask for it asked before it came. Who
asked before did wait for it, and is told once more.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Duration, Instant

_ITEMS_MAX: Final = 4_096
# More wait a little longer.
_REQUESTERS_MAX: Final = 64


class Audience(Enum):
    """Who is to be told."""

    ALL = "all"
    REQUESTER = "asker"
    NONE = "nobody"


class _RequestedItem:
    __slots__ = ("replied_to_all_at", "requesters")

    def __init__(self) -> None:
        # Who asked before, and so did not hear it.
        self.requesters: Final[set[int]] = set()
        self.replied_to_all_at: Instant | None = None


class ReplySuppression:
    """Numbers that are asked for; `alone_first` tells who asks first alone.

    It does where one may be the only one: all are told when a second one asks.
    """

    def __init__(self, *, unicast_first: bool = False) -> None:
        self._unicast_first: Final = unicast_first
        self._items: Final[BoundedDict[int, _RequestedItem]] = BoundedDict(_ITEMS_MAX)

    def __len__(self) -> int:
        return len(self._items)

    def audience(self, seq: int, requester: int, hold_down_ns: Duration, now: Instant) -> Audience:
        """Who is told of this number, now that somebody asks."""
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
