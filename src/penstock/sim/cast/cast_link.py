"""One direction of a link: a rate, a queue, a delay, and losses that are drawn for each symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.cast.link_faults import LinkFaults
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
        # What waits for its turn; None: any number of bytes.
        queue_bytes: int | None = None,
    ) -> None:
        self._events: Final = events
        self._delay_ns: Final = delay_ns
        self._rate_bps: Final = rate_bps
        self._queue_bytes: Final = queue_bytes
        self._free_at: Instant = 0
        # Datagrams that the queue had no room for, and all.
        self.dropped = 0
        self.offered = 0
        self._receivers: Final[dict[int, tuple[Arrive, SymbolLoss]]] = {}
        # Receivers that hear nothing.
        self.cut_off: Final[set[int]] = set()
        self.faults: LinkFaults | None = None
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
        if self._rate_bps is not None and self._queue_bytes is not None:
            waiting_bytes = (left - self._events.now) * self._rate_bps // (8 * SECOND)
            fits = self._queued(frame, size_bytes, self._queue_bytes - waiting_bytes)
            if fits is None:
                return
            frame, size_bytes = fits
        if self._rate_bps is not None:
            left += size_bytes * 8 * SECOND // self._rate_bps
        self._free_at = left
        for node, (_arrive, loss) in self._receivers.items():
            arrived = _survivor(frame, loss, self._events.now)
            if arrived is None:
                continue
            at = left + self._delay_ns
            if self.faults is None:
                self._events.schedule(at, self._land, node, arrived)
            else:
                for later_ns in self.faults.delays_of(arrived):
                    self._events.schedule(at + later_ns, self._land, node, arrived)

    def _queued(
        self, frame: CastFrame, size_bytes: int, room_bytes: int
    ) -> tuple[CastFrame, int] | None:
        """What of a frame the queue has room for; the symbols of a train come one by one."""
        numbers = _numbers_of(frame)
        count = 1 if numbers is None else len(numbers)
        each_bytes = size_bytes // count
        fit = max(0, min(room_bytes // each_bytes, count))
        self.offered += count
        self.dropped += count - fit
        if not fit:
            return None
        if numbers is not None and fit < count:
            assert isinstance(frame, Packet)
            frame = _with_symbols(frame, numbers[:fit])
        return frame, fit * each_bytes

    def _land(self, node: int, frame: CastFrame) -> None:
        receiver = self._receivers.get(node)
        if receiver is not None and self.is_up and node not in self.cut_off:
            receiver[0](frame)


def _survivor(frame: CastFrame, loss: SymbolLoss, now: Instant) -> CastFrame | None:
    """What of a frame arrives."""
    numbers = _numbers_of(frame)
    if numbers is None:
        return frame if loss.passes(now) else None
    left = loss.survivors(numbers, now)
    if not left:
        return None
    if len(left) == len(numbers):
        return frame
    assert isinstance(frame, Packet)
    return _with_symbols(frame, left)


def _numbers_of(frame: CastFrame) -> tuple[int, ...] | None:
    if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
        return frame.body.numbers
    return None


def _with_symbols(frame: Packet, numbers: tuple[int, ...]) -> Packet:
    header = msgspec.structs.replace(frame.header, symbol=numbers[0])
    return Packet(header=header, body=Symbols(numbers=numbers), origin=None)
