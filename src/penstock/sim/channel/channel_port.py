"""The model network as an endpoint sees it: sends what is published, delivers what arrives.

It sends nothing of its own: the peer at `port` is the `IdealNetwork`, which is always there.
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

# Called with each frame before it is delivered to the transport above.
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
        """Sends the frame to the hub."""
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
        """Subscribes with a single SUB: the link to the hub loses no subscription."""
        del now
        sub = Sub(subscription=subscription, traffic=traffic, predicate=predicate)
        self._out.append(Send(self._port, sub))

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Ends the subscription."""
        del now
        self._out.append(Send(self._port, Unsub(subscription=subscription)))

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Delivers what the hub forwards."""
        del via, now
        if type(frame) is Notify:
            arrived = frame.carried.frame
            if self._tap is not None:
                self._tap(arrived)
            self._out.append(Deliver(arrived))
        else:
            self.counters["malformed"] += 1

    def wake(self, *, now: Instant) -> None:
        """Does nothing: the port has no timers."""

    def next_wakeup(self) -> Instant | None:
        """None: the port has no timers."""
        return None

    def poll(self) -> Send[OverlayFrame] | Deliver | None:
        """The next frame to send or to deliver."""
        return self._out.popleft() if self._out else None
