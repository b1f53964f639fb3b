"""Rows about control frames of endpoints that have no table of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.control_kind import ControlKind
from penstock.trace.records import Signal
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.transport.congestion.facts import AckSent, EchoSent
from penstock.transport.recovery.facts import ControlSent
from penstock.wire import size_of
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest

CONTROL_KINDS: Final[Mapping[type[TransportFrame], ControlKind]] = {
    Digest: ControlKind.DIGEST,
    TrackRequest: ControlKind.TRACK_REQUEST,
    TrackReply: ControlKind.TRACK_REPLY,
    RangeRequest: ControlKind.RANGE_REQUEST,
    EchoRequest: ControlKind.ECHO_REQUEST,
    EchoReply: ControlKind.ECHO_REPLY,
    Ack: ControlKind.ACK,
}


class Signals:
    """Adds a `Signal` for each control frame sent."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_sent(self, sender: str, sent: ControlSent | EchoSent | AckSent, now: Instant) -> None:
        """Adds a control frame sent now."""
        frame = sent.frame
        publisher, kind = self._names[frame.pub], CONTROL_KINDS[type(frame)]
        self._add(Signal(sender, publisher, kind, now, size_of(frame)))
