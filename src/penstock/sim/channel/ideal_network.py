"""The middle of the model network: brings a message to all whose predicate matches it.

At once and exactly; what takes time, and what goes wrong, is on the links. A
request, which is matched by bits and not by content, goes to all who subscribe
to requests. Whoever publishes gets its own message too, if it asked for such.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port, Send
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.data import Data
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.unsub import Unsub


class IdealNetwork:
    """A machine that knows what everybody wants."""

    def __init__(self) -> None:
        self._subscriptions: Final[dict[tuple[Port, int], Sub]] = {}
        # Who wants it, by predicate and in the order of asking; None when that must be found anew.
        self._ports_by_predicate: dict[Predicate, dict[Port, None]] | None = None
        self._out: Final[deque[Send[OverlayFrame]]] = deque()
        self.counters: Final[dict[str, int]] = {"malformed": 0}

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Takes what a client says."""
        del now
        if type(frame) is Pub:
            notify = Notify(carried=frame.carried)
            self._out.extend(Send(port, notify) for port in self._matching_ports(frame))
        elif type(frame) is Sub:
            self._subscriptions[via, frame.subscription] = frame
            self._ports_by_predicate = None
        elif type(frame) is Unsub:
            self._subscriptions.pop((via, frame.subscription), None)
            self._ports_by_predicate = None
        else:
            self.counters["malformed"] += 1

    def _matching_ports(self, pub: Pub) -> dict[Port, None]:
        """Each once, however many of its subscriptions match."""
        message = pub.carried.frame
        if pub.traffic is not TrafficClass.DATA or not isinstance(message, Data):
            return {
                port: None
                for (port, _), sub in self._subscriptions.items()
                if sub.traffic is pub.traffic
            }
        if self._ports_by_predicate is None:
            self._ports_by_predicate = {}
            for (port, _), sub in self._subscriptions.items():
                if sub.traffic is TrafficClass.DATA:
                    self._ports_by_predicate.setdefault(sub.predicate, {})[port] = None
        matching = [
            ports
            for predicate, ports in self._ports_by_predicate.items()
            if predicate.matches(message.message)
        ]
        return (
            matching[0] if len(matching) == 1 else dict.fromkeys(p for who in matching for p in who)
        )

    def wake(self, *, now: Instant) -> None:
        """There is nothing to wake for."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Send[OverlayFrame] | None:
        """The next frame to send."""
        return self._out.popleft() if self._out else None
