"""The state of one missing message, the list of blocking ones, and a log of those given up.

    missing    blocks the delivery of later messages until `release_at`
    released   blocks nothing any more
    lost       declared lost at `declare_lost_at`; peers may be asked to repair it

It is resolved when it arrives, is repaired or is given up. `trace.fates.TRANSITIONS` is
the table of allowed transitions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import Duration, Instant
from penstock.kernel.sequence import SEQ
from penstock.trace.fates import MissingState
from penstock.transport.facts import DetectedBy
from penstock.transport.record.matcher import RecordMatch

if TYPE_CHECKING:
    from penstock.transport.order.loss_tracker import LossTracker

# Module constants: looking up an enum member takes longer than comparing it.
MISSING: Final = MissingState.MISSING
RELEASED: Final = MissingState.RELEASED
LOST: Final = MissingState.LOST
_EXTENDED_SEQ: Final = attrgetter("extended_seq")


class MissingEntry:
    """One missing message, or without a `record_match` a range of possible ones."""

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
        stream: LossTracker,
        extended_seq: int,
        record_match: RecordMatch | None,
        *,
        sent_ns: Instant,
        sent_before_ns: Duration,
        now: Instant,
    ) -> None:
        self.stream: Final = stream
        self.extended_seq = extended_seq
        # A range of possible messages ends before `stop`; `extended_seq` is the lowest missing.
        self.stop = extended_seq + 1
        self.record_match: Final = record_match
        self.sent_ns: Final = sent_ns
        # Send time relative to the message that revealed it, and the scale when it was revealed.
        self.sent_before_ns: Final = sent_before_ns
        self.scale_ns = 0.0
        self.detected_ns: Final = now
        self.detected_by: DetectedBy = "record"
        self.state = MISSING
        self.release_at = now
        self.declare_lost_at: Instant | None = None
        self.lost_ns: Instant | None = None
        self.give_up_at: Instant = 0
        # Whether later messages wait for its repair, beyond the latch.
        self.is_held_for_repair = False

    @property
    def is_possible(self) -> bool:
        """Whether no record shows that the message matches."""
        return self.record_match is None


# The blocking list is sorted by sequence number; several entries may have the same one.


def block(blocking: list[MissingEntry], missing: MissingEntry) -> None:
    """Add an entry to the blocking list."""
    insort(blocking, missing, key=_EXTENDED_SEQ)


def blocking_at(blocking: list[MissingEntry], extended_seq: int) -> list[MissingEntry]:
    """Return the blocking entries with this sequence number."""
    low = bisect_left(blocking, extended_seq, key=_EXTENDED_SEQ)
    return blocking[low : bisect_right(blocking, extended_seq, low, key=_EXTENDED_SEQ)]


def unblock(blocking: list[MissingEntry], missing: MissingEntry) -> None:
    """Remove an entry from the blocking list, if it is there."""
    index = bisect_left(blocking, missing.extended_seq, key=_EXTENDED_SEQ)
    while index < len(blocking) and blocking[index].extended_seq == missing.extended_seq:
        if blocking[index] is missing:
            del blocking[index]
            return
        index += 1


class GivenUpLog:
    """The sequence numbers given up last; how many, each `add` says.

    Every sequence number up to the highest evicted one counts as given up.
    """

    __slots__ = ("_all_below", "_recent")

    def __init__(self) -> None:
        # Not a BoundedDict: the bound changes with the ordering, and lowering it evicts nothing.
        self._recent: Final[OrderedDict[int, None]] = OrderedDict()
        self._all_below = -1 << SEQ.bits

    def __len__(self) -> int:
        return len(self._recent)

    def add(self, extended_seq: int, entries_max: int) -> None:
        """Add a sequence number; evicts the oldest entry if there are more than `entries_max`."""
        self._recent[extended_seq] = None
        if len(self._recent) > entries_max:
            evicted, _ = self._recent.popitem(last=False)
            self._all_below = max(self._all_below, evicted + 1)

    def contains(self, extended_seq: int) -> bool:
        """Whether it was given up, or is too old to know."""
        return extended_seq < self._all_below or extended_seq in self._recent
