"""Control frames: up hop by hop to the controller, down by a filter, repeated until acknowledged.

Knows nothing of what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.bloomcast.discovery.replay_window import ReplayWindow
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import ControlUnanswered, Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.header import TTL_MAX, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.status import Status

NO_ITEM: Final = Item(0, 0)
# Never repeated: the next one says more.
_UNACKNOWLEDGED: Final = (ControlAck, Status)
_TO_CONTROLLER: Final = 0


class Route(NamedTuple):
    """The way from a controller down to one node."""

    links: int
    choice: int
    hops: int


@dataclass(slots=True)
class _Pending:
    """A control frame without an answer."""

    # The node it is for; 0 for the controller.
    to: int
    item: Item
    body: CastBody
    origin: Origin
    attempts: int = 0


class Control:
    """What this node has said to its controller, or as a controller to others."""

    def __init__(
        self,
        out: Outbox,
        uplinks: Uplinks,
        *,
        settings: DiscoverySettings,
        is_controller: bool,
        route_to: Callable[[int], Route | None],
        forward: Callable[[Packet, str | None], None],
        on_up: Callable[[CastBody, Item, Origin, Instant], None],
        on_down: Callable[[CastBody, Item, Instant], None],
        # Something was acknowledged, or given up.
        on_settled: Callable[[Instant], None],
        # It was given up: whoever still means it says it again.
        on_given_up: Callable[[int, CastBody, Item, Instant], None],
    ) -> None:
        self._out: Final = out
        self._uplinks: Final = uplinks
        self._settings: Final = settings
        self._is_controller: Final = is_controller
        self._route_to: Final = route_to
        self._forward: Final = forward
        self._on_up: Final = on_up
        self._on_down: Final = on_down
        self._on_settled: Final = on_settled
        self._on_given_up: Final = on_given_up
        self._pending: Final[dict[int, _Pending]] = {}
        self._timers: Final[Timers[int]] = Timers()
        self._seen: Final = ReplayWindow(
            window=settings.replay_window, senders_max=settings.senders_max
        )

    def send_up(self, body: CastBody, *, item: Item = NO_ITEM, now: Instant) -> None:
        """Tells the controller of the item's scope."""
        if self._is_controller:
            self._on_up(body, item, self._out.next_origin(), now)
        else:
            self._begin(_Pending(_TO_CONTROLLER, item, body, self._out.next_origin()), now)

    def send_down(self, to: int, body: CastBody, *, item: Item = NO_ITEM, now: Instant) -> None:
        """As a controller, tells one node."""
        if to == self._out.node:
            self._on_down(body, item, now)
        else:
            self._begin(_Pending(to, item, body, self._out.next_origin()), now)

    def withdraw(self, kind: type[CastBody], *, item: Item, to: int = _TO_CONTROLLER) -> None:
        """Repeats no more what is not meant any more."""
        for number, pending in list(self._pending.items()):
            if pending.to == to and pending.item == item and isinstance(pending.body, kind):
                del self._pending[number]
                self._timers.cancel(number)

    def is_saying(self, kind: type[CastBody], item: Item) -> bool:
        """Whether something said to the controller has not been answered yet."""
        return any(
            pending.item == item and isinstance(pending.body, kind)
            for pending in self._pending.values()
        )

    @property
    def pending(self) -> int:
        """Frames that were not answered yet."""
        return len(self._pending)

    def is_unanswered(self, to: int) -> bool:
        """Whether a node has yet to acknowledge something."""
        return any(pending.to == to for pending in self._pending.values())

    def on_up(self, packet: Packet, body: Up, now: Instant) -> None:
        """A control frame arrived on its way to a controller: it is for us, or passed on."""
        header, origin = packet.header, packet.origin
        assert origin is not None
        if not self._is_controller:
            if header.ttl > 1:
                self._put_up(header, body, origin, header.ttl - 1)
            return
        if isinstance(body.body, ControlAck):
            self._on_ack(body.body, now)
        else:
            if self._seen.is_new(origin):
                self._on_up(body.body, header.item, origin, now)
            self._acknowledge(origin, header.item, now)

    def on_down(self, packet: Packet, body: Down, now: Instant) -> None:
        """A control frame for this node arrived."""
        origin = packet.origin
        assert origin is not None
        if isinstance(body.body, ControlAck):
            self._on_ack(body.body, now)
            return
        # The answer goes first: what the frame starts may take long.
        self._acknowledge(origin, packet.header.item, now)
        if self._seen.is_new(origin):
            self._on_down(body.body, packet.header.item, now)

    def wake(self, now: Instant) -> None:
        """Repeats what was not acknowledged."""
        for number in self._timers.due(now):
            self._try(number, now)

    def next_wakeup(self) -> Instant | None:
        """When something is to be repeated."""
        return self._timers.next_wakeup()

    def _begin(self, pending: _Pending, now: Instant) -> None:
        if isinstance(pending.body, _UNACKNOWLEDGED):
            self._put(pending)
        elif len(self._pending) >= self._settings.control_pending_max:
            self._out.tell(Overflow("control frames"))
        else:
            self._pending[pending.origin.number] = pending
            self._try(pending.origin.number, now)

    def _try(self, number: int, now: Instant) -> None:
        pending = self._pending[number]
        if pending.attempts >= self._settings.control_attempts_max:
            del self._pending[number]
            self._out.tell(ControlUnanswered(pending.to, pending.body))
            self._on_given_up(pending.to, pending.body, pending.item, now)
            self._on_settled(now)
            return
        self._put(pending)
        wait_ns = self._settings.control_retry.wait_ns(pending.attempts)
        pending.attempts += 1
        self._timers.set(number, now + wait_ns)

    def _put(self, pending: _Pending) -> None:
        """Sends by the way that is known now; without one, the next attempt may find one."""
        if pending.to == _TO_CONTROLLER:
            header = Header(ttl=TTL_MAX, choice=0, links=0, item=pending.item)
            self._put_up(header, Up(body=pending.body), pending.origin, TTL_MAX)
            return
        route = self._route_to(pending.to)
        if route is not None:
            header = Header(
                ttl=route.hops, choice=route.choice, links=route.links, item=pending.item
            )
            down = Down(to=pending.to, body=pending.body)
            self._forward(Packet(header=header, body=down, origin=pending.origin), None)

    def _put_up(self, header: Header, body: Up, origin: Origin, ttl: int) -> None:
        controller = self._uplinks.responsible_for(header.item.scope)
        port = None if controller is None else self._uplinks.port_to(controller)
        if port is not None:
            onward = Header(ttl=ttl, choice=0, links=0, item=header.item)
            self._out.send(port, Packet(header=onward, body=body, origin=origin))

    def _acknowledge(self, origin: Origin, item: Item, now: Instant) -> None:
        ack = ControlAck(boot=origin.boot, number=origin.number)
        if self._is_controller:
            self.send_down(origin.node, ack, item=item, now=now)
        else:
            self.send_up(ack, item=item, now=now)

    def _on_ack(self, ack: ControlAck, now: Instant) -> None:
        if ack.boot == self._out.boot and self._pending.pop(ack.number, None) is not None:
            self._timers.cancel(ack.number)
            self._on_settled(now)
