"""The links of a broker to its parents and children: what HELLO says, and who serves a pubend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from penstock.guaranteed.announcements import DISTANCE_MAX, Announcements
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.parent_loops import ParentLoops
from penstock.guaranteed.run import run_of
from penstock.guaranteed.said_hellos import SaidHellos
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import PUBENDS_MAX, BrokerFrame
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionReport,
    Live,
)
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Role
from penstock.wire.frames.guaranteed.knowledge import Data, Silence
from penstock.wire.frames.guaranteed.lag import LagRequest
from penstock.wire.frames.guaranteed.requests import FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Ack, Hold

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker
    from penstock.guaranteed.relay.relay import Relay

# How long a broker with several parents waits for all of them, when the first one is there.
_GATHER_NS: Final = SECOND
_ROLES: Final = Role.PUBLISH | Role.RELAY | Role.HOST
_FROM_CHILD: Final = (
    Nack,
    FilterRequest,
    ReaderRequest,
    Hold,
    Ack,
    LagRequest,
    Live,
    CongestionAlert,
    CongestionReport,
)


class Links:
    """All links to other brokers."""

    def __init__(self, broker: Broker, saved: Mapping[str, bytes], *, parents: int) -> None:
        self._broker: Final = broker
        self.announcements: Final = Announcements(broker.disk, saved, parents=parents)
        self._is_parent: Final[dict[Port, bool]] = {}
        self._child_names: Final[dict[Port, str]] = {}
        self._said: Final = SaidHellos()
        self._loops: Final = ParentLoops(broker.tell)
        self._is_overflow_told = False
        # Until then parents that are still to come are waited for, so that all of them get a share.
        self._chooses_at: Instant | None = None

    def children(self) -> Iterator[Port]:
        """The ports of brokers that take streams from this one."""
        return (port for port, is_parent in self._is_parent.items() if not is_parent)

    def has_child(self, name: str) -> bool:
        """Whether a broker of this name takes streams from this one now."""
        return name in self._child_names.values()

    def up(self, port: Port, *, to_parent: bool, address: str) -> None:
        """A link is there; `address` is where this broker has reached a parent."""
        self._is_parent[port] = to_parent
        if to_parent:
            self.announcements.parent_up(port, address)
        else:
            for relay in self._broker.relays.values():
                relay.child_up(port)
        self._say_hello(port)

    def down(self, port: Port, *, now: Instant) -> None:
        """A link is gone: its pubends are taken from other parents that have them."""
        broker, is_parent = self._broker, self._is_parent.pop(port, None)
        self._child_names.pop(port, None)
        self._said.forget(port)
        if is_parent:
            self.announcements.parent_lost(port)
            for pubend, relay in broker.relays.items():
                if relay.parent == port:
                    self._leave_parent(pubend, relay)
            self._choose_parents(now)
            # Children may have other parents that still serve what this one served.
            self.announce()
        elif is_parent is not None:
            for relay in broker.relays.values():
                relay.child_down(port)

    def _leave_parent(self, pubend: int, relay: Relay) -> None:
        relay.parent_down()
        self._broker.host.link_lost(pubend)

    def _choose_parents(self, now: Instant) -> None:
        """Takes each pubend from one parent: for as long as that one is there and announces it."""
        if self._chooses_at is not None:
            if not self.announcements.are_complete and now < self._chooses_at:
                return
            self._chooses_at = None
        for pubend, relay in self._broker.relays.items():
            if pubend not in self._broker.pubends and relay.parent is None:
                parent = self.announcements.best_parent(pubend)
                if parent is not None:
                    relay.parent_up(parent)

    def wake(self, *, now: Instant) -> None:
        """Parents that have not come are no longer waited for."""
        if self._chooses_at is not None and now >= self._chooses_at:
            self._choose_parents(now)

    def next_wakeup(self) -> Instant | None:
        """When that is."""
        return self._chooses_at

    def announce(self) -> None:
        """Tells children what this broker can serve now, if that is not what they know."""
        children = [*self.children()]
        if not children:
            return
        hello = self._hello()
        for port in children:
            if self._said.is_new(port, hello):
                self._broker.send_broker(port, hello)

    def _say_hello(self, port: Port) -> None:
        hello = self._hello()
        self._said.is_new(port, hello)
        self._broker.send_broker(port, hello)

    def _hello(self) -> Hello:
        broker = self._broker
        own = [pubend.announcement(broker.address) for pubend in broker.pubends.values()]
        return Hello(
            broker=broker.name,
            life=broker.life,
            roles=_ROLES if broker.knows_all_streams else _ROLES | Role.PARTIAL,
            token=0,
            pubends=self._fitting([*own, *self._passed_on()]),
        )

    def _passed_on(self) -> list[Announcement]:
        """Leases were true when they were announced: this broker may have passed more since."""
        broker = self._broker
        found: list[Announcement] = []
        too_far: list[Announcement] = []
        for each in self.announcements.passed_on():
            relay = broker.relays.get(each.pubend)
            if relay is None or each.pubend in broker.pubends:
                # Parents that form a loop announce what is stored here, or was until just now.
                continue
            lease = max(each.lease, relay.passed - 1)
            (found if each.distance <= DISTANCE_MAX else too_far).append(
                msgspec.structs.replace(each, lease=lease)
            )
        self._loops.not_passed_on(too_far)
        return found

    def _fitting(self, announcements: list[Announcement]) -> tuple[Announcement, ...]:
        """As many as one HELLO takes."""
        if len(announcements) > PUBENDS_MAX and not self._is_overflow_told:
            self._is_overflow_told = True
            text = (
                f"{len(announcements)} streams are too many, children are told of {PUBENDS_MAX}:"
                " store the others elsewhere"
            )
            self._broker.tell(Alarm("too_many_pubends", text))
        return tuple(announcements[:PUBENDS_MAX])

    def on_hello(self, port: Port, frame: Hello, *, now: Instant) -> None:
        """A parent says what it serves; of a child only the name is of interest."""
        if not self._is_parent.get(port):
            self._child_names[port] = frame.broker
            self._find_loops()
            return
        broker = self._broker
        if self._chooses_at is None and not self.announcements.has_any:
            self._chooses_at = now + _GATHER_NS
        self._loops.announced(frame.broker, frame.pubends)
        taken = self.announcements.take(port, frame)
        self._find_loops()
        for announcement in taken:
            if announcement.pubend in broker.pubends:
                self._loops.comes_back(announcement, frame.broker, self._child_names.values())
                continue
            self._warn_of_namesake(announcement)
            self.announcements.remember(announcement)
            relay = broker.router.relay_of(announcement.pubend)
            relay.heard(announcement)
            broker.host.announced(announcement, now=now)
        for pubend, relay in broker.relays.items():
            if relay.parent == port and not self.announcements.is_served_by(pubend, port):
                self._leave_parent(pubend, relay)
        self._choose_parents(now)
        for pubend in self.announcements.forget_deleted():
            broker.forget_pubend(pubend, now=now)
        self.announce()
        broker.host.streams_changed(now=now)

    def _find_loops(self) -> None:
        self._loops.neighbours(self.announcements.parents, self._child_names.values())

    def _warn_of_namesake(self, announcement: Announcement) -> None:
        """Two brokers have created streams of one name: who reads here gets both."""
        stream = announcement.stream
        if announcement.pubend not in self.announcements.remembered and (
            self._broker.streams.here(stream)
        ):
            at = f" ({announcement.address})" if announcement.address else ""
            self._broker.tell(
                Alarm(
                    "same_name",
                    f"a parent{at} has stream {stream!r} too, readers here get both: delete one",
                )
            )

    def receive(self, port: Port, frame: BrokerFrame, *, now: Instant) -> None:
        """A frame about a pubend, from a child or from the parent it is taken from."""
        relay = self._broker.relays.get(frame.pubend)  # type: ignore[attr-defined]
        if relay is None:
            return
        if isinstance(frame, _FROM_CHILD) and not self._is_parent.get(port, True):
            relay.receive_from_child(port, frame, now=now)
        elif relay.parent == port:
            said = run_of(frame) if isinstance(frame, Data | Silence) else frame
            relay.receive_from_parent(said, now=now)
