"""Rows about packets that the network dropped, with the message that they carried, if any.

No machine reports these: the driver sees them, because it carries the packets.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.fates import DropReason
from penstock.trace.records import Drop
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.wire import Frame, size_of
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub


class Drops:
    """Adds a `Drop` for each packet dropped at a link, queue or broker."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_frame(self, place: str, frame: Frame, reason: DropReason, now: Instant) -> None:
        """Adds a frame of ours that was dropped now."""
        traffic_class = "control"
        packet: tuple[int | None, int | None, int | None] = (None, None, None)
        message: tuple[str | None, int | None, int | None] = (None, None, None)
        if isinstance(frame, Packet | Pub | Notify):
            traffic_class = "data"
            data = frame.carried.frame
            if isinstance(data, Data):
                message = (self._names[data.pub], data.epoch, data.seq)
            if isinstance(frame, Packet):
                packet = frame.id
        self._add(Drop(now, place, reason, traffic_class, size_of(frame), *packet, *message))

    def on_other(
        self, place: str, traffic_class: str, size_bytes: int, reason: DropReason, now: Instant
    ) -> None:
        """Adds a packet of other traffic, such as TCP, that was dropped now."""
        self._add(Drop(now, place, reason, traffic_class, size_bytes))
