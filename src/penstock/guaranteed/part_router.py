"""Frames between the parts of one broker: its pubends, the relays beside them, and its host.

They wait in a queue of their own, so that no part calls into another while that one is at work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.run import Run, frames_of
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.lag import LagAnswer

if TYPE_CHECKING:
    from penstock.guaranteed.broker import AnyFrame, Broker
    from penstock.guaranteed.output.link_queues import LinkQueues

# Ports of relays towards the other parts.
_HOST: Final = "@host"
_PUBEND: Final = "@pubend"


class PartRouter:
    """The relays of a broker, and what its parts say to each other."""

    def __init__(self, broker: Broker, queues: LinkQueues[AnyFrame]) -> None:
        self.relays: Final[dict[int, Relay]] = {}
        self._broker: Final = broker
        self._queues: Final = queues
        # Where to, where from, and what.
        self._frames: Final[deque[tuple[Port, Port, BrokerFrame | Run]]] = deque()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._frames

    def relay_of(self, pubend: int) -> Relay:
        """The relay of a pubend, from now on if there was none."""
        relay = self.relays.get(pubend)
        if relay is None:
            settings = self._broker.settings.relay
            relay = Relay(pubend, settings=settings, send=self._send_from_relay(pubend))
            self.relays[pubend] = relay
            relay.child_up(_HOST)
            for port in self._broker.links.children():
                relay.child_up(port)
            self._broker.host.pubend_known(pubend)
        return relay

    def pubend_up(self, pubend: int) -> None:
        """A pubend is stored here: its relay takes it from there."""
        self.relay_of(pubend).parent_up(_PUBEND, is_far=False)

    def forget(self, pubend: int) -> None:
        """A stream was deleted: what is on its way is dropped."""
        self.relays.pop(pubend, None)

    def say(self, pubend: int, frame: BrokerFrame | Run) -> None:
        """Sends a frame from a pubend to its relay."""
        self._frames.append((f"relay/{pubend}", _PUBEND, frame))

    def ask(self, frame: BrokerFrame) -> None:
        """Sends a frame towards its pubend, as the host of this broker."""
        self._frames.append((f"relay/{frame.pubend}", _HOST, frame))  # type: ignore[attr-defined]

    def _send_from_relay(self, pubend: int) -> Callable[[Port, BrokerFrame | Run], None]:
        source = f"relay/{pubend}"

        def send(port: Port, frame: BrokerFrame | Run) -> None:
            if port is _HOST or port is _PUBEND:
                self._frames.append((port, source, frame))
            elif isinstance(frame, Run):
                self._queues.put(port, frames_of(frame), may_drop=True)
            else:
                self._queues.put(port, (frame,))

        return send

    def deliver(self, *, now: Instant) -> None:
        """Passes frames on until none is left."""
        while self._frames:
            to, source, frame = self._frames.popleft()
            pubend: int = frame.pubend  # type: ignore[union-attr]
            relay = self.relays.get(pubend)
            if relay is None:
                # It was deleted while this was on its way.
                continue
            if to is _HOST:
                self._tell_host(frame, now)
            elif to is _PUBEND:
                assert not isinstance(frame, Run), "a pubend is told nothing of its own messages"
                self._broker.pubends[pubend].receive(frame, now=now)
            elif source is _PUBEND:
                relay.receive_from_parent(frame, now=now)
            else:
                assert not isinstance(frame, Run), "a host only asks"
                relay.receive_from_child(_HOST, frame, now=now)
            self._broker.host.settle(now=now)

    def _tell_host(self, frame: BrokerFrame | Run, now: Instant) -> None:
        if type(frame) is LagAnswer:
            self._broker.lags.on_answer(frame, now=now)
        else:
            self._broker.host.receive_from_relay(frame, now=now)
