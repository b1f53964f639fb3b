"""One number that a subscription should have had.

    missing    later messages wait for it, until `release_at`
    released   nothing waits for it any more
    lost       at `lose_at` it is believed lost; others may be asked for it
    and then, whenever it comes or nobody hopes any more, its end

`trace.fates.TRANSITIONS` is the table of what may follow what.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.sequence import SEQ
from penstock.trace.fates import MissingState
from penstock.transport.facts import DetectedBy
from penstock.transport.record.matcher import RecordMatch

if TYPE_CHECKING:
    from penstock.transport.order.gap_tracker import GapTracker

# Naming a member of an enum takes longer than comparing it.
MISSING: Final = MissingState.MISSING
RELEASED: Final = MissingState.RELEASED
LOST: Final = MissingState.LOST
_EXTENDED_SEQ: Final = attrgetter("extended_seq")


class MissingEntry:
    """Its stream moves it along; without a `glimpse` it is only assumed to be for us."""

    __slots__ = (
        "declare_lost_at",
        "detected_by",
        "detected_ns",
        "extended_seq",
        "give_up_at",
        "is_held_for_repair",
        "lost_ns",
        "record_match",
        "release_at",
        "scale_ns",
        "sent_before_ns",
        "sent_ns",
        "state",
        "stop",
        "stream",
    )

    def __init__(
        self,
        stream: GapTracker,
        extended_seq: int,
        record_match: RecordMatch | None,
        *,
        sent_ns: Instant,
        sent_before_ns: Duration,
        now: Instant,
    ) -> None:
        self.stream: Final = stream
        self.extended_seq = extended_seq
        # Of assumed ones there are several in a row: `number` is the lowest that has not come.
        self.stop = extended_seq + 1
        self.record_match: Final = record_match
        self.sent_ns: Final = sent_ns
        # How long before the message that revealed it it left, and the scale at that time.
        self.sent_before_ns: Final = sent_before_ns
        self.scale_ns = 0.0
        self.detected_ns: Final = now
        self.detected_by: DetectedBy = "record"
        self.state = MISSING
        self.release_at = now
        self.declare_lost_at: Instant | None = None
        self.lost_ns: Instant | None = None
        self.give_up_at: Instant = 0
        # Whether what comes after it waits for its repair, not only for itself.
        self.is_held_for_repair = False

    @property
    def is_possible(self) -> bool:
        """Whether nothing tells that there is such a message for us."""
        return self.record_match is None


# What others wait for is a list by rising number; several may have the same.


def block(blocking: list[MissingEntry], missing: MissingEntry) -> None:
    """Others wait for it from now on."""
    insort(blocking, missing, key=_EXTENDED_SEQ)


def blocking_at(blocking: list[MissingEntry], extended_seq: int) -> list[MissingEntry]:
    """Those that have this number."""
    low = bisect_left(blocking, extended_seq, key=_EXTENDED_SEQ)
    return blocking[low : bisect_right(blocking, extended_seq, low, key=_EXTENDED_SEQ)]


def unblock(blocking: list[MissingEntry], missing: MissingEntry) -> None:
    """Nothing waits for it any more, if it did."""
    index = bisect_left(blocking, missing.extended_seq, key=_EXTENDED_SEQ)
    while index < len(blocking) and blocking[index].extended_seq == missing.extended_seq:
        if blocking[index] is missing:
            del blocking[index]
            return
        index += 1


class GivenUpLog:
    """The last numbers of which nothing is hoped for any more.

    Which these were is remembered of so many; below the lowest forgotten, no number
    has any hope, whether it was one of them or not.
    """

    __slots__ = ("_all_below", "_recent")

    def __init__(self, entries_max: int) -> None:
        self._recent: Final[BoundedDict[int, None]] = BoundedDict(entries_max)
        self._all_below = -1 << SEQ.bits

    def __len__(self) -> int:
        return len(self._recent)

    def add(self, extended_seq: int) -> None:
        """One more."""
        evicted = self._recent.make_room(extended_seq)
        if evicted is not None:
            self._all_below = max(self._all_below, evicted[0] + 1)
        self._recent[extended_seq] = None

    def contains(self, extended_seq: int) -> bool:
        """Whether it is one of them, or too old to say."""
        return extended_seq < self._all_below or extended_seq in self._recent
