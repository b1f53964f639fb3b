"""BEACON, flooded by controllers: by which port each is reached.

The uplink is the port with the fewest hops, and of these the neighbour with the lowest id.

A router passes on each number of a controller once, and only if it is later than all before: one
that is forged or replayed costs a frame a port, at most. When the next number does not come in
time, the router says the last one again. So losses do not add up along a chain of links: a
neighbour is a way to a controller for as long as it repeats a number, and a controller is there
for as long as its numbers rise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.bloomcast.discovery.claims import Claim, rendezvous_point, topology_managers
from penstock.bloomcast.discovery.heartbeats import Heartbeats
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.serial_numbers import distance
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import SECOND, Duration, Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.topology import CastRole, PortKind

_HOPS_MAX: Final = 254
# A number is that of the controller's start, and one that rises in it; both begin again at 0.
_COUNT_BITS: Final = 16
_BOOT_BITS: Final = 16
_COUNT_MASK: Final = (1 << _COUNT_BITS) - 1
# A beacon of a controller that is gone counts for nothing; if a number far ahead was forged, the
# controller comes back after this time.
_REMEMBERED_NS: Final[Duration] = 30 * SECOND


def first_number(boot: int) -> int:
    """Before the first beacon of a controller's start."""
    return (boot << _COUNT_BITS) & 0xFFFF_FFFF


def next_number(number: int) -> int:
    """Of the next beacon of the same start."""
    return (number & ~_COUNT_MASK) | (number + 1 & _COUNT_MASK)


def _steps(number: int, behind: int) -> tuple[int, int]:
    """How far a number is ahead of another: starts, and beacons."""
    starts = distance(number >> _COUNT_BITS, behind >> _COUNT_BITS, bits=_BOOT_BITS)
    return starts, distance(number, behind, bits=_COUNT_BITS)


@dataclass(slots=True)
class _Controller:
    """One controller, as it is heard here."""

    # The latest beacon, by which port it came first, and when.
    beacon: Beacon
    via: Port
    heard_at: Instant
    heartbeats: Heartbeats
    # By port: hops, and the neighbour that said so.
    ways: dict[Port, tuple[int, int]]

    @property
    def claim(self) -> Claim:
        """What it claims."""
        return Claim(self.beacon.controller, self.beacon.roles, self.beacon.scopes)


class Uplinks:
    """The way to each controller of the domain."""

    def __init__(
        self,
        out: Outbox,
        ports: Ports,
        *,
        domain: bytes,
        is_router: bool,
        settings: DiscoverySettings,
        # A controller is heard for the first time, or for the first time since it restarted.
        on_controller: Callable[[Claim, Instant], None],
    ) -> None:
        self._out: Final = out
        self._ports: Final = ports
        self._domain: Final = domain
        self._is_router: Final = is_router
        self._settings: Final = settings
        self._on_controller: Final = on_controller
        self._controllers: Final[dict[int, _Controller]] = {}
        # Those that are not heard any more.
        self._gone: Final[BoundedDict[int, _Controller]] = BoundedDict(
            settings.controllers_max, recent=True
        )
        # What this node claims itself.
        self.own = Claim(out.node, CastRole(0))
        # Until when a port is a way to a controller; without a port, until when it is there.
        self._timers: Final[Timers[tuple[int, Port | None]]] = Timers()
        # When the latest beacon of a controller is passed on once more.
        self._repeats: Final[Timers[int]] = Timers()

    def on_beacon(self, frame: Beacon, via: Port, now: Instant) -> None:
        """Remembers the way, and passes the beacon on when it is new."""
        node = frame.controller
        if frame.domain != self._domain or node == self._out.node or via not in self._ports:
            return
        known = self._controllers.get(node)
        before = known or self._gone_lately(node, now)
        starts, beacons = (1, 0) if before is None else _steps(frame.number, before.beacon.number)
        is_later = starts > 0 or (starts == 0 and beacons > 0)
        if known is None and is_later:
            known = self._add(frame, via, before, now)
        if known is None or not (is_later or starts == beacons == 0):
            return
        if is_later:
            if starts:
                known.heartbeats = self._heartbeats()
            else:
                known.heartbeats.on_heard(beacons)
            known.beacon, known.via, known.heard_at = frame, via, now
            self._timers.set((node, None), now + known.heartbeats.silence_ns)
            self._pass_on(known)
            # Late enough for the next one to come first.
            self._repeat_at(node, now + self._settings.beacon_ns * 5 // 4)
        is_another = starts > 0 or not known.ways
        known.ways[via] = (frame.hops, frame.origin.node)
        self._timers.set((node, via), now + known.heartbeats.silence_ns)
        if is_another:
            self._on_controller(known.claim, now)

    def _gone_lately(self, node: int, now: Instant) -> _Controller | None:
        gone = self._gone.get(node)
        return gone if gone is not None and now - gone.heard_at < _REMEMBERED_NS else None

    def _add(
        self, frame: Beacon, via: Port, before: _Controller | None, now: Instant
    ) -> _Controller | None:
        """A controller that is not heard by any way."""
        node = frame.controller
        if len(self._controllers) >= self._settings.controllers_max:
            self._out.tell(Overflow("controllers"))
            return None
        self._gone.pop(node, None)
        beats = self._heartbeats() if before is None else before.heartbeats
        known = self._controllers[node] = _Controller(frame, via, now, beats, {})
        return known

    def _heartbeats(self) -> Heartbeats:
        return Heartbeats(self._settings.beacon_ns, self._settings.silence_ns)

    def _pass_on(self, known: _Controller) -> None:
        beacon = known.beacon
        if not self._is_router or beacon.hops >= _HOPS_MAX:
            return
        for info in self._ports:
            if info.port != known.via:
                onward = msgspec.structs.replace(
                    beacon, origin=self._out.next_origin(), hops=beacon.hops + 1
                )
                self._out.send(info.port, onward)

    def _repeat_at(self, node: int, at: Instant) -> None:
        if self._is_router:
            self._repeats.set(node, at)

    def _claims(self) -> list[Claim]:
        return [self.own, *[known.claim for known in self._controllers.values()]]

    def responsible_for(self, scope: int) -> int | None:
        """The rendezvous point of a scope: this node, or one that is reached."""
        return rendezvous_point(self._claims(), scope)

    def topology_managers(self) -> list[int]:
        """All that are reached, and this node if it is one."""
        return topology_managers(self._claims())

    def port_to(self, controller: int, *, but: Port | None = None) -> Port | None:
        """The uplink, if there is one, among all ports but one.

        What is multicast on a LAN goes to all its hosts, so no uplink leads there.
        """
        known = self._controllers.get(controller)
        if known is None:
            return None
        ways = known.ways
        return min(self._usable(ways, but), key=lambda port: ways[port], default=None)

    def _usable(self, ways: dict[Port, tuple[int, int]], but: Port | None) -> Iterator[Port]:
        return (port for port in ways if port != but and self._ports[port].kind is not PortKind.LAN)

    def port_down(self, port: Port) -> None:
        """Nothing is reached by this port any more."""
        for node in list(self._controllers):
            self._lose_way(node, port)

    def neighbour_lost(self, port: Port, neighbour: int) -> None:
        """Nothing is reached by this neighbour any more."""
        for node, known in list(self._controllers.items()):
            if port in known.ways and known.ways[port][1] == neighbour:
                self._lose_way(node, port)

    def wake(self, now: Instant) -> None:
        """Forgets what was not heard for long, and repeats what its neighbours may have missed."""
        for node, port in self._timers.due(now):
            if port is None:
                self._lose(node)
            else:
                self._lose_way(node, port)
        for node in self._repeats.due(now):
            self._pass_on(self._controllers[node])
            self._repeat_at(node, now + self._settings.beacon_ns)

    def next_wakeup(self) -> Instant | None:
        """When it has something to forget, or to say."""
        return earliest(self._timers.next_wakeup(), self._repeats.next_wakeup())

    def _lose_way(self, node: int, port: Port) -> None:
        self._timers.cancel((node, port))
        ways = self._controllers[node].ways
        ways.pop(port, None)
        if not ways:
            self._lose(node)

    def _lose(self, node: int) -> None:
        known = self._gone[node] = self._controllers.pop(node)
        for port in known.ways:
            self._timers.cancel((node, port))
        known.ways.clear()
        self._timers.cancel((node, None))
        self._repeats.cancel(node)
