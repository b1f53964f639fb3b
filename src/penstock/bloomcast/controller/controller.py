"""The controller: rendezvous point, topology manager, or both, for what it is responsible for."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.network_map import NetworkMap
from penstock.bloomcast.controller.plan_service import PlanService
from penstock.bloomcast.controller.remote_topology import RemoteTopology
from penstock.bloomcast.controller.rendezvous import Rendezvous
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.transfer_plans import TransferPlans
from penstock.bloomcast.discovery.claims import Claim, what_is_left
from penstock.bloomcast.discovery.control import Control, Route, Told
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.uplinks import Uplinks, first_number, next_number
from penstock.bloomcast.facts import SteppedDown
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import CastBody, Item
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.planning import PlanReply, PlanRequest, VoidBefore
from penstock.wire.frames.cast.topology import CastRole, LinkState
from penstock.wire.frames.cast.transfer import Stop


class Controller:
    """Of one domain."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        uplinks: Uplinks,
        ports: Ports,
        *,
        domain: bytes,
        settings: CastSettings,
        now: Instant,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._uplinks: Final = uplinks
        self._ports: Final = ports
        self._domain: Final = domain
        self._settings: Final = settings
        own = settings.controller
        self._map: Final = NetworkMap(out.node)
        self._plans: Final = TransferPlans(
            out, control, self._map, settings=own, on_cut_off=self._on_cut_off
        )
        self._service: Final = PlanService(out, control, self._map, self._plans, settings=own)
        self._remote: Final = RemoteTopology(out, control, uplinks, settings=own)
        self._rendezvous: Final = Rendezvous(
            out, control, self._plans if self.has_map() else self._remote, settings=own
        )
        # Whoever hears a beacon of another life tells everything again.
        self._beacon = first_number(out.boot)
        self._beacon_at = now

    # Control frames.

    def has_map(self) -> bool:
        """Whether this node is a topology manager."""
        return bool(self._uplinks.own.roles & CastRole.TOPOLOGY)

    def route_to(self, node: int) -> Route | None:
        """The way down to a node."""
        return self._map.route_to(node)

    def takes(self, body: CastBody, item: Item) -> bool:
        """Whether this controller is the one for this; others are not even answered."""
        if isinstance(body, LinkState | PlanRequest) or item in self._service:
            return self.has_map()
        return self._is_own(item.scope)

    def on_up(self, told: Told, now: Instant) -> None:
        """A control frame that has come all the way up."""
        body = told.body
        if isinstance(body, LinkState):
            if body.node == told.origin.node:
                void = self._map.on_link_state(body, told.origin.boot, now)
                self._look(now)
                if void is not None:
                    self._on_void(void, now)
        elif isinstance(body, PlanRequest):
            self._service.on_request(body, told, now)
        elif isinstance(body, Stop) and told.item in self._service:
            self._service.on_stop(body, told, now)
        else:
            self._rendezvous.on_told(told, now)

    def on_down(self, told: Told, now: Instant) -> None:
        """The topology manager says something of a transfer."""
        body = told.body
        if isinstance(body, PlanReply) and self._remote.is_current(told):
            for void in body.void:
                self._rendezvous.on_void(void, now)
            if body.is_publisher_cut_off:
                self._rendezvous.on_cut_off(told.item, now)

    def on_settled(self, now: Instant) -> None:
        """A node has acknowledged a control frame, or was given up."""
        self._plans.on_confirmed(now)

    def on_given_up(self, to: int, told: Told, now: Instant) -> None:
        """A node has not answered."""
        self._plans.on_given_up(to, told.body, told.item, now)

    # Other controllers.

    def on_controller(self, other: Claim, now: Instant) -> None:
        """There is another one, or it has restarted: of two for the same the lower id stays."""
        own = self._uplinks.own
        left = what_is_left(own, other)
        if left != own:
            self._uplinks.own = left
            self._out.tell(SteppedDown(other.node))
            # Nobody waits until the beacons of before are forgotten.
            self._say()
            if not self.has_map():
                self._service.forget_all(now)
        self._rendezvous.keep(self._is_own, now)
        if not self.has_map():
            self._remote.on_controller(now)

    def _is_own(self, scope: int) -> bool:
        return self._uplinks.responsible_for(scope) == self._out.node

    # State.

    @property
    def running(self) -> int:
        """Transfers that have begun."""
        return max(self._rendezvous.running, len(self._plans))

    def plan_of(self, item: Item) -> TransferPlan | None:
        """The latest plan of an item."""
        return self._plans.plan_of(item)

    # Time.

    def wake(self, now: Instant) -> None:
        """Says where it is, and does what is due."""
        if self._beacon_at <= now:
            self._beacon_at = now + self._settings.discovery.beacon_ns
            if not self._uplinks.own.is_void:
                self._say()
        gone = self._map.expire(now)
        self._look(now)
        for void in gone:
            self._on_void(void, now)
        self._rendezvous.wake(now)
        self._remote.wake(now)
        self._service.wake(now)
        self._plans.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(
            self._beacon_at,
            self._map.next_wakeup(),
            self._rendezvous.next_wakeup(),
            self._remote.next_wakeup(),
            self._service.next_wakeup(),
            self._plans.next_wakeup(),
        )

    def _say(self) -> None:
        own = self._uplinks.own
        self._beacon = next_number(self._beacon)
        for info in self._ports:
            beacon = Beacon(
                origin=self._out.next_origin(),
                controller=self._out.node,
                domain=self._domain,
                tag_epoch=0,
                number=self._beacon,
                hops=0,
                roles=own.roles,
                scopes=own.scopes,
            )
            self._out.send(info.port, beacon)

    # The map.

    def _look(self, now: Instant) -> None:
        """Says if the network is another one."""
        if self._map.has_changed(now):
            self._control.on_new_map(now)
            self._plans.on_network_change(now)
            self._service.on_network_change(now)
            if self.has_map():
                self._rendezvous.on_network_change(now)

    def _on_void(self, void: VoidBefore, now: Instant) -> None:
        self._plans.on_restart(void.node, now)
        self._service.on_void(void, now)
        self._rendezvous.on_void(void, now)

    def _on_cut_off(self, item: Item, now: Instant) -> None:
        if item in self._service:
            self._service.on_cut_off(item, now)
        else:
            self._rendezvous.on_cut_off(item, now)
