"""One number that a subscription should have had.

    missing    later messages wait for it, until `release_at`
    released   nothing waits for it any more
    lost       at `lose_at` it is believed lost; others may be asked for it
    and then, whenever it comes or nobody hopes any more, its end

`trace.fates.TRANSITIONS` is the table of what may follow what.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import MissingState
from penstock.transport.facts import FoundBy
from penstock.transport.record.matcher import Glimpse
from penstock.wire.serial import SEQ_BITS

if TYPE_CHECKING:
    from penstock.transport.order.gap_tracker import Gaps

# Naming a member of an enum takes longer than comparing it.
MISSING: Final = MissingState.MISSING
RELEASED: Final = MissingState.RELEASED
LOST: Final = MissingState.LOST
_NUMBER: Final = attrgetter("number")


class Missing:
    """Its stream moves it along; without a `glimpse` it is only assumed to be for us."""

    __slots__ = (
        "departed_ns",
        "detected_ns",
        "forget_at",
        "found_by",
        "gap_ns",
        "glimpse",
        "is_held_for",
        "lose_at",
        "lost_ns",
        "number",
        "release_at",
        "scale_ns",
        "state",
        "stop",
        "stream",
    )

    def __init__(
        self,
        stream: Gaps,
        number: int,
        glimpse: Glimpse | None,
        *,
        departed_ns: Instant,
        gap_ns: Duration,
        now: Instant,
    ) -> None:
        self.stream: Final = stream
        self.number = number
        # Of assumed ones there are several in a row: `number` is the lowest that has not come.
        self.stop = number + 1
        self.glimpse: Final = glimpse
        self.departed_ns: Final = departed_ns
        # How long before the message that revealed it it left, and the scale at that time.
        self.gap_ns: Final = gap_ns
        self.scale_ns = 0.0
        self.detected_ns: Final = now
        self.found_by: FoundBy = "record"
        self.state = MISSING
        self.release_at = now
        self.lose_at: Instant | None = None
        self.lost_ns: Instant | None = None
        self.forget_at: Instant = 0
        # Whether what comes after it waits for its repair, not only for itself.
        self.is_held_for = False

    @property
    def is_assumed(self) -> bool:
        """Whether nothing tells that there is such a message for us."""
        return self.glimpse is None


# What others wait for is a list by rising number; several may have the same.


def block(blocking: list[Missing], missing: Missing) -> None:
    """Others wait for it from now on."""
    insort(blocking, missing, key=_NUMBER)


def blocking_at(blocking: list[Missing], number: int) -> list[Missing]:
    """Those that have this number."""
    low = bisect_left(blocking, number, key=_NUMBER)
    return blocking[low : bisect_right(blocking, number, low, key=_NUMBER)]


def unblock(blocking: list[Missing], missing: Missing) -> None:
    """Nothing waits for it any more, if it did."""
    at = bisect_left(blocking, missing.number, key=_NUMBER)
    while at < len(blocking) and blocking[at].number == missing.number:
        if blocking[at] is missing:
            del blocking[at]
            return
        at += 1


class GivenUp:
    """The last numbers of which nothing is hoped for any more.

    Which these were is remembered of so many; below the lowest forgotten, no number
    has any hope, whether it was one of them or not.
    """

    __slots__ = ("_below", "_last")

    def __init__(self) -> None:
        self._last: Final[OrderedDict[int, None]] = OrderedDict()
        self._below = -1 << SEQ_BITS

    def __len__(self) -> int:
        return len(self._last)

    def add(self, number: int, most: int) -> None:
        """One more, of which at most so many are remembered."""
        self._last[number] = None
        if len(self._last) > most:
            forgotten, _ = self._last.popitem(last=False)
            self._below = max(self._below, forgotten + 1)

    def has(self, number: int) -> bool:
        """Whether it is one of them, or too old to say."""
        return number < self._below or number in self._last
