"""One direction of a link: a rate, a delay, and losses that are drawn for each symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.cast.symbol_loss import SymbolLoss
from penstock.sim.events import EventQueue
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

Arrive: TypeAlias = Callable[[CastFrame], None]


class CastLink:
    """Carries frames to one node, or on a LAN to all its hosts, each with losses of its own."""

    def __init__(
        self,
        events: EventQueue,
        *,
        delay_ns: Duration,
        rate_bps: int | None = None,
    ) -> None:
        self._events: Final = events
        self._delay_ns: Final = delay_ns
        self._rate_bps: Final = rate_bps
        self._free_at: Instant = 0
        self._receivers: Final[dict[int, tuple[Arrive, SymbolLoss]]] = {}
        self.is_up = True

    def connect(self, node: int, arrive: Arrive, loss: SymbolLoss) -> None:
        """Another receiver of all that is sent."""
        self._receivers[node] = (arrive, loss)

    def disconnect(self, node: int) -> None:
        """A receiver is gone."""
        self._receivers.pop(node, None)

    def send(self, frame: CastFrame, size_bytes: int) -> None:
        """Puts a frame on its way."""
        if not self.is_up:
            return
        left = max(self._events.now, self._free_at)
        if self._rate_bps is not None:
            left += size_bytes * 8 * SECOND // self._rate_bps
        self._free_at = left
        for node, (_arrive, loss) in self._receivers.items():
            arrived = _survivor(frame, loss)
            if arrived is not None:
                self._events.schedule(left + self._delay_ns, self._land, node, arrived)

    def _land(self, node: int, frame: CastFrame) -> None:
        receiver = self._receivers.get(node)
        if receiver is not None and self.is_up:
            receiver[0](frame)


def _survivor(frame: CastFrame, loss: SymbolLoss) -> CastFrame | None:
    """What of a frame arrives."""
    if not isinstance(frame, Packet) or not isinstance(frame.body, Symbols):
        return frame if loss.passes() else None
    numbers = frame.body.numbers
    left = loss.survivors(numbers)
    if not left:
        return None
    if len(left) == len(numbers):
        return frame
    header = msgspec.structs.replace(frame.header, symbol=left[0])
    return Packet(header=header, body=Symbols(numbers=left), origin=None)
