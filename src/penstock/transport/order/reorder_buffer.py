"""The reorder buffer of one stream: received messages that wait for missing ones.

Does not know which messages are missing, or for how long the others wait.
"""

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
    """A received message, and the latch that applied when it arrived."""

    extended_seq: int
    frame: Data
    arrived_ns: Instant
    latch_ns: Duration
    # Its fate on delivery.
    fate: ReceiverFate = ReceiverFate.DELIVERED


class ReorderBuffer:
    """Buffered messages by ascending sequence number; usually few, so a sorted list suffices."""

    __slots__ = ("_earliest_arrivals", "messages")

    def __init__(self) -> None:
        # Public, because the stream tests it for every message.
        self.messages: Final[list[BufferedMessage]] = []
        # Running minimum of arrival times, from the last message to the first. Computed on
        # demand and cached, because one record may need it for each of its entries.
        self._earliest_arrivals: list[Instant] = []

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def lowest_seq(self) -> int:
        """The lowest sequence number; the buffer must not be empty."""
        return self.messages[0].extended_seq

    def add(self, message: BufferedMessage) -> None:
        """Insert a message in order."""
        insort(self.messages, message, key=_EXTENDED_SEQ)
        self._earliest_arrivals = []

    def take_below(self, extended_seq: int | None) -> list[BufferedMessage]:
        """Remove and return the messages below `extended_seq`, or all if it is None."""
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
        """Return the earliest arrival among the messages above `extended_seq`, if any."""
        if not self.messages:
            return None
        if not self._earliest_arrivals:
            self._earliest_arrivals = list(
                accumulate((message.arrived_ns for message in reversed(self.messages)), min)
            )
        above = len(self.messages) - bisect_right(self.messages, extended_seq, key=_EXTENDED_SEQ)
        return self._earliest_arrivals[above - 1] if above else None
