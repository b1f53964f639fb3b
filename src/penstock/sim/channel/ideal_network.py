"""The hub of the model network: sends each message to all subscribers that match it.

Matching is immediate and exact; delays and losses are the links' part. A request matches by
bits and not by content, so it goes to all subscribers to requests. A publisher gets its own
message too, if it subscribed to it.
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
    """A machine that holds the subscriptions of all clients."""

    def __init__(self) -> None:
        self._subscriptions: Final[dict[tuple[Port, int], Sub]] = {}
        # Subscribed ports by predicate, in the order of subscription; None when out of date.
        self._ports_by_predicate: dict[Predicate, dict[Port, None]] | None = None
        self._out: Final[deque[Send[OverlayFrame]]] = deque()
        self.counters: Final[dict[str, int]] = {"malformed": 0}

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Handles a client's PUB, SUB or UNSUB."""
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
        """Ports to send to, each once, however many of its subscriptions match."""
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
            matching[0]
            if len(matching) == 1
            else dict.fromkeys(p for group in matching for p in group)
        )

    def wake(self, *, now: Instant) -> None:
        """Does nothing: the hub has no timers."""

    def next_wakeup(self) -> Instant | None:
        """None: the hub has no timers."""
        return None

    def poll(self) -> Send[OverlayFrame] | None:
        """The next frame to send."""
        return self._out.popleft() if self._out else None
