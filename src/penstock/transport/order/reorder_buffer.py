"""Messages that came and wait for others, by rising number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate
from operator import attrgetter
from typing import Final

import msgspec

from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import ReceiverFate
from penstock.wire.frames.data import Data

_EXTENDED_SEQ: Final = attrgetter("extended_seq")


class BufferedMessage(msgspec.Struct, frozen=True, gc=False):
    """One of them, and the latch that it found."""

    extended_seq: int
    frame: Data
    arrived_ns: Instant
    latch_ns: Duration
    # What becomes of it when it is handed over.
    fate: ReceiverFate = ReceiverFate.DELIVERED


class ReorderBuffer:
    """Few as a rule, so a sorted list will do."""

    __slots__ = ("_earliest_arrivals", "messages")

    def __init__(self) -> None:
        # For others to look at: whether there are any is asked for every message.
        self.messages: Final[list[BufferedMessage]] = []
        # The earliest arrival of each and all that follow it, from the last on; made when asked
        # for, which one record may do for each of its entries.
        self._earliest_arrivals: list[Instant] = []

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def lowest_seq(self) -> int:
        """The number of the first; there must be one."""
        return self.messages[0].extended_seq

    def add(self, message: BufferedMessage) -> None:
        """Wherever it belongs."""
        insort(self.messages, message, key=_EXTENDED_SEQ)
        self._earliest_arrivals = []

    def take_below(self, extended_seq: int | None) -> list[BufferedMessage]:
        """Takes out those with a lower number, or all."""
        messages = self.messages
        end = (
            len(messages)
            if extended_seq is None
            else bisect_left(messages, extended_seq, key=_EXTENDED_SEQ)
        )
        taken = messages[:end]
        del messages[:end]
        self._earliest_arrivals = []
        return taken

    def first_arrival_above(self, extended_seq: int) -> Instant | None:
        """When the first of those came that have a higher number; None if there are none."""
        if not self.messages:
            return None
        if not self._earliest_arrivals:
            self._earliest_arrivals = list(
                accumulate((w.arrived_ns for w in reversed(self.messages)), min)
            )
        above = len(self.messages) - bisect_right(self.messages, extended_seq, key=_EXTENDED_SEQ)
        return self._earliest_arrivals[above - 1] if above else None
