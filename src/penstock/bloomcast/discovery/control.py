"""Control frames: up hop by hop to a controller, down by a filter, repeated until acknowledged.

Knows nothing of what they say. A controller without a map sends down by way of one that has it.

Where links lose frames, few get to the other end of a long path. So whoever sees that a node
repeats itself, or is told the same again, says two or three copies in a row of what comes from that
node or goes to it; whoever gets them passes on the first only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from penstock.bloomcast.discovery.replay_window import ReplayWindow
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import ControlUnanswered, Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Port
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.header import TTL_MAX, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.status import Status

NO_ITEM: Final = Item(0, 0)
# Never repeated: the next one says more.
_UNACKNOWLEDGED: Final = (ControlAck, Status)
# Whoever is responsible for the scope at the time of each attempt.
_RESPONSIBLE: Final = 0
# The same frame within this time is a copy; later, its sender repeats it.
_COPIES_NS: Final[Duration] = 100 * MILLISECOND
_COPIES_REMEMBERED_MAX: Final = 4_096
_COPIES_MAX: Final = 3
# The map may be so old, and not know a node that has just told of itself.
_UNROUTED_NS: Final[Duration] = 100 * MILLISECOND
# One copy is enough again when nothing was repeated for so long.
_LOSSY_NS: Final[Duration] = 8 * SECOND


class Route(NamedTuple):
    """The way from a controller down to one node."""

    links: int
    choice: int
    hops: int


class Told(NamedTuple):
    """What a control frame says, of which item, and where it comes from."""

    body: CastBody
    item: Item
    origin: Origin
    # Links that it has come by; 0: it is this node's own.
    hops: int = 0


class ControlUser(Protocol):
    """What is done with control frames."""

    def has_map(self) -> bool:
        """Whether ways down are known here."""

    def route_to(self, node: int) -> Route | None:
        """The way down to a node."""

    def takes(self, body: CastBody, item: Item) -> bool:
        """Whether this node is the controller for this; others are not even answered."""

    def on_up(self, told: Told, now: Instant) -> None:
        """Somebody tells this controller."""

    def on_down(self, told: Told, now: Instant) -> None:
        """A controller tells this node."""

    def on_settled(self, now: Instant) -> None:
        """Something was acknowledged, or given up."""

    def on_given_up(self, to: int, told: Told, now: Instant) -> None:
        """Something said up (`to` is 0) or down was given up: who still means it says it again."""


@dataclass(slots=True)
class _Pending:
    """A control frame without an answer."""

    # The node it is for.
    to: int
    is_up: bool
    told: Told
    attempts: int = 0


class Control:
    """What this node has said to controllers, or as a controller to others."""

    def __init__(
        self,
        out: Outbox,
        uplinks: Uplinks,
        *,
        settings: DiscoverySettings,
        forward: Callable[[Packet, Port | None], None],
        is_router: bool,
        user: ControlUser,
    ) -> None:
        self._out: Final = out
        self._uplinks: Final = uplinks
        self._settings: Final = settings
        self._forward: Final = forward
        self._is_router: Final = is_router
        self._user: Final = user
        self._pending: Final[dict[int, _Pending]] = {}
        self._timers: Final[Timers[int]] = Timers()
        self._seen: Final = ReplayWindow(
            window=settings.replay_window, senders_max=settings.senders_max
        )
        # When frames came last.
        self._came_at: Final[BoundedDict[Origin, Instant]] = BoundedDict(
            _COPIES_REMEMBERED_MAX, recent=True
        )
        # What had no way down, and since when.
        self._unrouted: Final[list[tuple[Instant, Item, Down, Origin]]] = []
        # By node, how many copies get there or come from there, and until when.
        self._lossy: Final[BoundedDict[int, tuple[int, Instant]]] = BoundedDict(
            settings.senders_max, recent=True
        )

    def send_up(
        self, body: CastBody, *, item: Item = NO_ITEM, to: int = _RESPONSIBLE, now: Instant
    ) -> None:
        """Tells a controller: without `to`, the rendezvous point of the item's scope."""
        told = Told(body, item, self._out.next_origin())
        if (to or self._uplinks.responsible_for(item.scope)) == self._out.node:
            self._user.on_up(told, now)
        else:
            self._begin(_Pending(to, True, told), now)

    def send_down(self, to: int, body: CastBody, *, item: Item = NO_ITEM, now: Instant) -> None:
        """As a controller, tells one node."""
        told = Told(body, item, self._out.next_origin())
        if to == self._out.node:
            self._user.on_down(told, now)
        else:
            self._begin(_Pending(to, False, told), now)

    def withdraw(self, kind: type[CastBody], *, item: Item, to: int | None = None) -> None:
        """Repeats no more what is not meant any more: to one node, or to all."""
        for number, pending in list(self._pending.items()):
            is_to = to is None or pending.to == to
            if is_to and pending.told.item == item and isinstance(pending.told.body, kind):
                self._settle(number)

    def is_saying(self, kind: type[CastBody], item: Item) -> bool:
        """Whether something said to a controller has not been answered yet."""
        return any(
            pending.is_up and pending.told.item == item and isinstance(pending.told.body, kind)
            for pending in self._pending.values()
        )

    @property
    def pending(self) -> int:
        """Frames that were not answered yet."""
        return len(self._pending)

    def is_unanswered(self, to: int) -> bool:
        """Whether a node has yet to acknowledge something that it was told as a node."""
        return any(pending.to == to and not pending.is_up for pending in self._pending.values())

    def on_up(self, packet: Packet, body: Up, via: Port, now: Instant) -> None:
        """A control frame arrived on its way to a controller: it is for us, or passed on."""
        header, origin, inner = packet.header, packet.origin, body.body
        assert origin is not None
        if self._is_copy(origin, origin.node, now):
            return
        if body.to != self._out.node:
            # Hosts pass nothing on, and nobody sends it back.
            if self._is_router and header.ttl > 1:
                self._put_up(header.item, body, origin, header.ttl - 1, now, via=via)
        elif isinstance(inner, Down):
            self._pass_down(packet, inner, now)
        elif isinstance(inner, ControlAck):
            self._on_ack(inner, now)
        elif self._user.takes(inner, header.item):
            if self._seen.is_new(origin):
                told = Told(inner, header.item, origin, TTL_MAX - header.ttl + 1)
                self._user.on_up(told, now)
            ack = ControlAck(boot=origin.boot, number=origin.number)
            self.send_down(origin.node, ack, item=header.item, now=now)

    def on_down(self, packet: Packet, body: Down, via: Port, now: Instant) -> None:
        """A control frame arrived on its way to a node: it is for us, or passed on."""
        assert packet.origin is not None
        if self._is_copy(packet.origin, body.to, now):
            return
        if body.to == self._out.node:
            self._take_down(packet, body, now)
        elif self._is_router:
            self._forward_copies(packet, body, via, now)

    def _take_down(self, packet: Packet, body: Down, now: Instant) -> None:
        origin, item = packet.origin, packet.header.item
        assert origin is not None
        if isinstance(body.body, ControlAck):
            self._on_ack(body.body, now)
            return
        # The answer goes first: what the frame starts may take long.
        ack = ControlAck(boot=origin.boot, number=origin.number)
        self.send_up(ack, item=item, to=origin.node, now=now)
        if self._seen.is_new(origin):
            self._user.on_down(Told(body.body, item, origin), now)

    def on_new_map(self, now: Instant) -> None:
        """There may be a way now for answers that had none a moment ago."""
        unrouted = [*self._unrouted]
        self._unrouted.clear()
        for since, item, down, origin in unrouted:
            if now - since <= _UNROUTED_NS and self._user.route_to(down.to) is not None:
                self._put_down(item, down, origin, now)

    def wake(self, now: Instant) -> None:
        """Repeats what was not acknowledged."""
        for number in self._timers.due(now):
            self._try(number, now)

    def next_wakeup(self) -> Instant | None:
        """When something is to be repeated."""
        return self._timers.next_wakeup()

    def _begin(self, pending: _Pending, now: Instant) -> None:
        number = pending.told.origin.number
        if isinstance(pending.told.body, _UNACKNOWLEDGED):
            self._put(pending, now)
        elif len(self._pending) >= self._settings.control_pending_max:
            self._out.tell(Overflow("control frames"))
        else:
            self._pending[number] = pending
            self._try(number, now)

    def _try(self, number: int, now: Instant) -> None:
        pending = self._pending[number]
        told = pending.told
        if pending.attempts >= self._settings.control_attempts_max:
            self._settle(number)
            self._out.tell(ControlUnanswered(pending.to, told.body))
            if not (pending.is_up and pending.to):
                self._user.on_given_up(pending.to, told, now)
            self._user.on_settled(now)
            return
        if pending.is_up and self._target(pending) == self._out.node:
            # The one before is gone, and this node takes its place.
            self._settle(number)
            self._user.on_up(told, now)
            self._user.on_settled(now)
            return
        if pending.attempts:
            self._on_repeated(self._out.node if pending.is_up else pending.to, now)
        self._put(pending, now)
        wait_ns = self._settings.control_retry.wait_ns(pending.attempts)
        pending.attempts += 1
        self._timers.set(number, now + wait_ns)

    def _target(self, pending: _Pending) -> int | None:
        return pending.to or self._uplinks.responsible_for(pending.told.item.scope)

    def _put(self, pending: _Pending, now: Instant) -> None:
        """Sends by the way that is known now; without one, the next attempt may find one."""
        body, item, origin, _ = pending.told
        if not pending.is_up:
            self._put_down(item, Down(to=pending.to, body=body), origin, now)
            return
        target = self._target(pending)
        if target is not None:
            self._put_up(item, Up(to=target, body=body), origin, TTL_MAX, now)

    def _put_up(
        self,
        item: Item,
        body: Up,
        origin: Origin,
        ttl: int,
        now: Instant,
        *,
        via: Port | None = None,
    ) -> None:
        port = self._uplinks.port_to(body.to, but=via)
        if port is not None:
            header = Header(ttl=ttl, choice=0, links=0, item=item)
            packet = Packet(header=header, body=body, origin=origin)
            for _ in range(self._copies(origin.node, now)):
                self._out.send(port, packet)

    def _put_down(self, item: Item, down: Down, origin: Origin, now: Instant) -> None:
        if not self._user.has_map():
            for manager in self._uplinks.topology_managers()[:1]:
                self._put_up(item, Up(to=manager, body=down), origin, TTL_MAX, now)
            return
        route = self._user.route_to(down.to)
        if route is not None:
            header = Header(ttl=route.hops, choice=route.choice, links=route.links, item=item)
            packet = Packet(header=header, body=down, origin=origin)
            self._forward_copies(packet, down, None, now)
        elif isinstance(down.body, _UNACKNOWLEDGED):
            if len(self._unrouted) >= self._settings.control_pending_max:
                self._unrouted.clear()
            self._unrouted.append((now, item, down, origin))

    def _pass_down(self, packet: Packet, down: Down, now: Instant) -> None:
        """What a rendezvous point without a map says to a node, or to this one."""
        assert packet.origin is not None
        if down.to == self._out.node:
            self._take_down(packet, down, now)
        elif self._user.has_map():
            self._put_down(packet.header.item, down, packet.origin, now)

    def _forward_copies(self, packet: Packet, body: Down, via: Port | None, now: Instant) -> None:
        for _ in range(self._copies(body.to, now)):
            self._forward(packet, via)

    # Losses.

    def _is_copy(self, origin: Origin, node: int, now: Instant) -> bool:
        """Whether a frame from a node, or to it, came a moment ago; if it came before, notes it."""
        came_at = self._came_at.get(origin)
        self._came_at[origin] = now
        if came_at is None:
            return False
        if now - came_at < _COPIES_NS:
            return True
        self._on_repeated(node, now)
        return False

    def _on_repeated(self, node: int, now: Instant) -> None:
        copies = min(self._copies(node, now) + 1, _COPIES_MAX)
        self._lossy[node] = (copies, now + _LOSSY_NS)

    def _copies(self, node: int, now: Instant) -> int:
        copies, until = self._lossy.get(node, (1, now))
        return copies if now < until else 1

    # Answers.

    def _settle(self, number: int) -> bool:
        self._timers.cancel(number)
        return self._pending.pop(number, None) is not None

    def _on_ack(self, ack: ControlAck, now: Instant) -> None:
        if ack.boot == self._out.boot and self._settle(ack.number):
            self._user.on_settled(now)
