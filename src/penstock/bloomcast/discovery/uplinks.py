"""BEACON, flooded by controllers: by which port each is reached.

The uplink is the port with the fewest hops, and of these the neighbour with the lowest id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.discovery.claims import Claim, rendezvous_point, topology_managers
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.topology import CastRole

_HOPS_MAX: Final = 254
# A controller counts its beacons from another multiple of this at each start.
BEACONS_A_LIFE: Final = 1 << 16


@dataclass(slots=True)
class _Controller:
    """One controller, as it is heard here."""

    number: int
    claim: Claim
    # By port: hops, and the neighbour that said so.
    ways: dict[Port, tuple[int, int]]


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
        # What this node claims itself.
        self.own = Claim(out.node, CastRole(0))
        # Until when a port is a way to a controller.
        self._timers: Final[Timers[tuple[int, Port]]] = Timers()

    def on_beacon(self, frame: Beacon, via: Port, now: Instant) -> None:
        """Remembers the way, and passes the beacon on when it is new."""
        if frame.domain != self._domain or frame.controller == self._out.node:
            return
        known = self._controllers.get(frame.controller)
        claim = Claim(frame.controller, frame.roles, frame.scopes)
        if known is None:
            if len(self._controllers) >= self._settings.controllers_max:
                self._out.tell(Overflow("controllers"))
                return
            known = self._controllers[frame.controller] = _Controller(-1, claim, {})
        known.ways[via] = (frame.hops, frame.origin.node)
        self._timers.set((frame.controller, via), now + self._settings.silence_ns)
        is_another = known.number // BEACONS_A_LIFE != frame.number // BEACONS_A_LIFE
        if is_another or known.number < frame.number:
            known.number, known.claim = frame.number, claim
            if self._is_router and frame.hops < _HOPS_MAX:
                self._pass_on(frame, via)
        if is_another:
            self._on_controller(claim, now)

    def _pass_on(self, frame: Beacon, via: Port) -> None:
        for info in self._ports:
            if info.port != via:
                onward = Beacon(
                    origin=self._out.next_origin(),
                    controller=frame.controller,
                    domain=frame.domain,
                    tag_epoch=frame.tag_epoch,
                    number=frame.number,
                    hops=frame.hops + 1,
                    address=frame.address,
                    roles=frame.roles,
                    scopes=frame.scopes,
                )
                self._out.send(info.port, onward)

    def _claims(self) -> list[Claim]:
        return [self.own, *[known.claim for known in self._controllers.values()]]

    def responsible_for(self, scope: int) -> int | None:
        """The rendezvous point of a scope: this node, or one that is reached."""
        return rendezvous_point(self._claims(), scope)

    def topology_managers(self) -> list[int]:
        """All that are reached, and this node if it is one."""
        return topology_managers(self._claims())

    def port_to(self, controller: int) -> Port | None:
        """The uplink, if there is one."""
        known = self._controllers.get(controller)
        if known is None:
            return None
        ways = known.ways
        return min(ways, key=lambda port: ways[port], default=None)

    def port_down(self, port: Port) -> None:
        """Nothing is reached by this port any more."""
        for controller in list(self._controllers):
            self._timers.cancel((controller, port))
            self._lose(controller, port)

    def wake(self, now: Instant) -> None:
        """Forgets what was not heard for long."""
        for controller, port in self._timers.due(now):
            self._lose(controller, port)

    def next_wakeup(self) -> Instant | None:
        """When it has something to forget."""
        return self._timers.next_wakeup()

    def _lose(self, controller: int, port: Port) -> None:
        known = self._controllers[controller]
        known.ways.pop(port, None)
        if not known.ways:
            del self._controllers[controller]
