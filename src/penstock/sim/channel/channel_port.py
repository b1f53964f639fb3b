"""The model network as an endpoint sees it: what is published leaves, what arrives is handed up.

Says nothing of itself: the other end of `port` is the hub, and always there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.wire.frames.base import OverlayFrame, TrafficClass, TransportFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.unsub import Unsub

# Hears what is handed up, before the transport above does.
FrameTap: TypeAlias = Callable[[TransportFrame], None]


class ChannelPort:
    """Implements `transport.network.Network`."""

    def __init__(self, port: Port, tap: FrameTap | None = None) -> None:
        self._port: Final = port
        self._tap: Final = tap
        self._out: Final[deque[Send[OverlayFrame] | Deliver]] = deque()
        self.counters: Final[dict[str, int]] = {"malformed": 0}

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends it."""
        del now
        self._out.append(Send(self._port, Pub(traffic=traffic, carried=CarriedFrame(frame))))

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Asks once: nothing that is asked is ever lost."""
        del now
        sub = Sub(subscription=subscription, traffic=traffic, predicate=predicate)
        self._out.append(Send(self._port, sub))

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Takes it back."""
        del now
        self._out.append(Send(self._port, Unsub(subscription=subscription)))

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Hands up what the hub brings."""
        del via, now
        if type(frame) is Notify:
            arrived = frame.carried.frame
            if self._tap is not None:
                self._tap(arrived)
            self._out.append(Deliver(arrived))
        else:
            self.counters["malformed"] += 1

    def wake(self, *, now: Instant) -> None:
        """There is nothing to wake for."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Send[OverlayFrame] | Deliver | None:
        """The next frame to send, or to hand up."""
        return self._out.popleft() if self._out else None
