"""What many ask for at about the same time: told to all once, and to who asks again alone.

For a while after it was told to all, others who ask for it asked before it came. Who
asked before did wait for it, and is told once more.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Final

from penstock.kernel.instant import Duration, Instant

_NUMBERS_MAX: Final = 4_096
# More wait a little longer.
_ASKED_BY_MAX: Final = 64


class Whom(Enum):
    """Who is to be told."""

    ALL = "all"
    ASKER = "asker"
    NOBODY = "nobody"


class _Asked:
    __slots__ = ("by", "told_all_at")

    def __init__(self) -> None:
        # Who asked before, and so did not hear it.
        self.by: Final[set[int]] = set()
        self.told_all_at: Instant | None = None


class Shared:
    """Numbers that are asked for; `alone_first` tells who asks first alone.

    It does where one may be the only one: all are told when a second one asks.
    """

    def __init__(self, *, alone_first: bool = False) -> None:
        self._alone_first: Final = alone_first
        self._asked: Final[OrderedDict[int, _Asked]] = OrderedDict()

    def whom(self, number: int, asker: int, hold_ns: Duration, now: Instant) -> Whom:
        """Who is told of this number, now that somebody asks."""
        asked = self._asked.get(number)
        is_first = asked is None
        if asked is None:
            asked = self._asked[number] = _Asked()
            if len(self._asked) > _NUMBERS_MAX:
                self._asked.popitem(last=False)
        asks_again = asker in asked.by
        if len(asked.by) < _ASKED_BY_MAX:
            asked.by.add(asker)
        if asked.told_all_at is None:
            if asks_again or (is_first and self._alone_first):
                return Whom.ASKER
            asked.told_all_at = now
            return Whom.ALL
        if asks_again or now >= asked.told_all_at + hold_ns:
            return Whom.ASKER
        return Whom.NOBODY
