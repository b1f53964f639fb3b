"""What can be seen of a network of guaranteed streams from outside, for checkers to override."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.guaranteed.broker import AnyFrame
from penstock.kernel.machine import Append, Port, Save, Trim
from penstock.wire.frames.guaranteed.base import BrokerFrame


class NetworkWatcher:
    """Is told of frames on links between brokers, and of what reaches disks."""

    def on_frame(self, sender: str, frame: BrokerFrame) -> None:
        """A broker sends a frame to another."""

    def on_arrival(self, receiver: str, port: Port, frames: Sequence[AnyFrame]) -> None:
        """Frames have come to a broker, which has not looked at them yet."""

    def on_write(self, broker: str, write: Append | Save) -> None:
        """A write is about to be on the disk of a broker: synced, or left there by a crash."""

    def on_trim(self, broker: str, trim: Trim) -> None:
        """A broker gives up the oldest records of a log."""
