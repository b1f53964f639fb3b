"""What the transport tells the application: what became of each message and each gap.

Times are of the receiver's own clock. Every message that arrives for the first
time and matches gives one `Receipt` to each subscription that it matches; every
number that was known to be missing gives one `Absence` when its life ends. A
`Loss` and its retraction are what reliability and congestion control hear.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from penstock.content.message import Message
from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import MissingOutcome, MissingState, ReceiverFate
from penstock.transport.record.matcher import RecordMatch
from penstock.wire.frames.data import Data, MessageId

# What told that a number is missing.
DetectedBy: TypeAlias = Literal["record", "digest"]


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message that arrived; the application gets it unless its fate is `dropped_late`."""

    subscription: int
    frame: Data
    arrived_ns: Instant
    resolved_ns: Instant
    # The latch it waited under; None when it did not wait.
    latch_ns: Duration | None
    fate: ReceiverFate


class Absence(msgspec.Struct, frozen=True, gc=False):
    """The whole life of a number that was missing."""

    subscription: int
    id: MessageId
    detected_ns: Instant
    found_by: DetectedBy
    # When it was declared lost, if it was.
    lost_ns: Instant | None
    # The last state before its end, and the end.
    state: MissingState
    resolution: MissingOutcome
    ended_ns: Instant

    @property
    def is_lost(self) -> bool:
        """Whether it never came; one that came too late, and was dropped, is not lost."""
        return self.resolution is ReceiverFate.GIVEN_UP


class Unseen(msgspec.Struct, frozen=True, gc=False):
    """So many messages for us that are lost for good, of which only the count is known.

    Where a publisher numbers what we want: a hole in the numbers that it could not fill.
    """

    subscription: int
    pub: int
    epoch: int
    messages: int
    detected_ns: Instant
    ended_ns: Instant


class DroppedAtSource(msgspec.Struct, frozen=True, gc=False):
    """A message that never left: too many waited for their turn."""

    message: Message
    dropped_ns: Instant
    # How long it had waited.
    waited_ns: Duration = 0


class Sent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a message's turn has come, and it leaves now."""

    frame: Data
    waited_ns: Duration = 0


class Loss(msgspec.Struct, frozen=True, gc=False):
    """A number is declared lost, or it came after all and is not (`is_retracted`)."""

    subscription: int
    id: MessageId
    departed_ns: Instant
    # By our own clock: when a message came that it would have come with, had it left with that.
    due_ns: Instant
    # What is known of its content.
    glimpse: RecordMatch | None
    is_retracted: bool
