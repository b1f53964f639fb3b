"""What recovery needs of the endpoint that it works for, and what it tells of itself."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from penstock.kernel.instant import Duration, Instant
from penstock.transport.detect.flow_gaps import FlowLoss
from penstock.transport.detect.loss_detection import ControlFrame
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request


class RequestSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a request that left."""

    request: Request


class RepairSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a repair that left."""

    repair: Repair


class ControlSent(msgspec.Struct, frozen=True, gc=False):
    """For the trace: a digest that left, or what is said to get one."""

    frame: ControlFrame


FrameSent: TypeAlias = RequestSent | RepairSent | ControlSent


class LocalEndpoint(Protocol):
    """The endpoint."""

    def has_received(self, id_: MessageId) -> bool:
        """Whether the message came here."""

    def on_repair(self, frame: Data, now: Instant, *, is_requested: bool) -> bool:
        """Takes a message that others had kept; whether it was still missing."""

    def on_digest(self, digest: Digest, now: Instant) -> None:
        """Looks for what is missing of what a digest tells of."""

    def give_up(self, id_: MessageId, now: Instant) -> None:
        """Nobody could repair it."""

    def give_up_unidentified(self, loss: FlowLoss, now: Instant) -> None:
        """So many messages nobody could repair, of which it is not known which they were."""

    def loss_timeout_ns(self, publisher: int) -> Duration:
        """How long after another a message of this publisher may come that left before it."""

    def record_sent(self, fact: FrameSent) -> None:
        """For the trace."""
