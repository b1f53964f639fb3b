"""The interface between recovery and its endpoint: callbacks, and facts for the trace."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from penstock.kernel.instant import Duration, Instant
from penstock.transport.detect.flow_gaps import FlowLoss
from penstock.transport.detect.unrecorded_losses import ControlFrame
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request


class RequestSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a request was sent."""

    request: Request


class RepairSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a repair was sent."""

    repair: Repair


class ControlSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a frame of loss detection was sent."""

    frame: ControlFrame


FrameSent: TypeAlias = RequestSent | RepairSent | ControlSent


class LocalEndpoint(Protocol):
    """The endpoint, as seen by recovery."""

    def has_received(self, id_: MessageId) -> bool:
        """Whether the message was received here."""

    def on_repair(self, frame: Data, now: Instant, *, is_requested: bool) -> bool:
        """Accept a repaired message; return whether it was still missing."""

    def on_digest(self, digest: Digest, now: Instant) -> None:
        """Look for missing messages among those that a digest describes."""

    def give_up(self, id_: MessageId, now: Instant) -> None:
        """Give up a message for which no repair arrived."""

    def give_up_unidentified(self, loss: FlowLoss, now: Instant) -> None:
        """Give up messages of a tracked flow whose sequence numbers are not known."""

    def loss_timeout_ns(self, publisher: int) -> Duration:
        """How late, after a later one, a message of this publisher may still arrive."""

    def record_sent(self, fact: FrameSent) -> None:
        """Record a sent frame for the trace."""
