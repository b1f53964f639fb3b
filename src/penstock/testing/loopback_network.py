"""A network for one endpoint that passes every frame on at once.

Does not know other endpoints: the caller takes frames from `poll` and hands frames to
`receive`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.wire.frames.base import TrafficClass, TransportFrame


class LoopbackNetwork:
    """Sends what is published to port "", delivers what is received, remembers subscriptions."""

    def __init__(self) -> None:
        self.subscriptions: Final[dict[int, tuple[TrafficClass, Predicate]]] = {}
        self._out: Final[deque[Send[TransportFrame] | Deliver]] = deque()

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends it, wanted or not."""
        del traffic, now
        self._out.append(Send("", frame))

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Remembers it; the network delivers every frame regardless."""
        del now
        self.subscriptions[subscription] = traffic, predicate

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Forgets it; a subscription that does not exist is a `KeyError`."""
        del now
        del self.subscriptions[subscription]

    def receive(self, frame: TransportFrame, *, via: Port, now: Instant) -> None:
        """Delivers it."""
        del via, now
        self._out.append(Deliver(frame))

    def wake(self, *, now: Instant) -> None:
        """Does nothing: nothing is ever due."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Send[TransportFrame] | Deliver | None:
        """The next frame, sent or delivered."""
        return self._out.popleft() if self._out else None
