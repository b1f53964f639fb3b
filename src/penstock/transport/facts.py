"""The facts that the transport reports: the fate of each message and of each gap.

Times are on the receiver's own clock. Every message that arrives for the first time yields
one `Delivery` to each subscription that it matches; every message known to be missing
yields one `Absence` when it is resolved. A `Loss` and its retraction go to recovery and
congestion control.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from penstock.content.message import Message
from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import MissingOutcome, MissingState, ReceiverFate
from penstock.transport.record.matcher import RecordMatch
from penstock.wire.frames.data import Data, MessageId

# How a missing message was detected.
DetectedBy: TypeAlias = Literal["record", "digest"]


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message that arrived; the application gets it unless its fate is `dropped_late`."""

    subscription: int
    frame: Data
    arrived_ns: Instant
    resolved_ns: Instant
    # The latch that applied on arrival; None if it did not wait.
    latch_ns: Duration | None
    fate: ReceiverFate


class Absence(msgspec.Struct, frozen=True, gc=False):
    """The history of one missing message, from its detection to its resolution."""

    subscription: int
    id: MessageId
    detected_ns: Instant
    found_by: DetectedBy
    # When it was declared lost, if it was.
    lost_ns: Instant | None
    # The last state before the resolution, and the resolution.
    state: MissingState
    resolution: MissingOutcome
    ended_ns: Instant

    @property
    def is_lost(self) -> bool:
        """Whether it never arrived; a message that was dropped because it was late is not lost."""
        return self.resolution is ReceiverFate.GIVEN_UP


class Unseen(msgspec.Struct, frozen=True, gc=False):
    """Messages lost for good of which only the count is known.

    The publisher numbers the messages of a tracked flow; these are missing from its numbers,
    and were not repaired.
    """

    subscription: int
    pub: int
    epoch: int
    messages: int
    detected_ns: Instant
    ended_ns: Instant


class DroppedAtSource(msgspec.Struct, frozen=True, gc=False):
    """A message that was never sent: the send queue was full."""

    message: Message
    dropped_ns: Instant
    # How long it was queued.
    waited_ns: Duration = 0


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message was sent after `waited_ns` in the send queue; recorded for the trace."""

    frame: Data
    waited_ns: Duration = 0


class Loss(msgspec.Struct, frozen=True, gc=False):
    """A message is declared lost, or a false declaration is withdrawn (`is_retracted`)."""

    subscription: int
    id: MessageId
    departed_ns: Instant
    # Expected arrival on the receiver's clock, with the delay of the message that revealed it.
    due_ns: Instant
    # The record entry that describes its content, if any.
    glimpse: RecordMatch | None
    is_retracted: bool
