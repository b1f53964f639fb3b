"""The best-effort broker of §3.2: dispatches frames by type and runs the timers.

    HELLO              sessions/    which neighbours and clients are alive
    LSA  ADV  SUMMARY  routing/     paths to other brokers, and their interests
    SUB  UNSUB         sessions/    exact predicates of the broker's own clients
    PUB  PACKET        forwarding/  messages in transit

A broker starts empty and learns only from frames. Its id, from 1, is unique in the network. Each
start has a new epoch, and the sequence numbers of its announcements start from the epoch, so that
neighbours prefer them to announcements of an earlier run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port, Record, Send
from penstock.kernel.timers import Timers
from penstock.overlay.counters import Count, Counters, new_counters
from penstock.overlay.forwarding.forwarder import Forwarder
from penstock.overlay.forwarding.routing_key import RoutingKey
from penstock.overlay.output_queue import OutputQueue
from penstock.overlay.routing.routing_database import RoutingDatabase
from penstock.overlay.sessions.client_sessions import ClientSessions
from penstock.overlay.sessions.hello import HelloProtocol
from penstock.overlay.sessions.neighbours import Neighbours
from penstock.overlay.settings import DEFAULTS, OverlaySettings
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.hello import CLIENT, Hello
from penstock.wire.frames.lsa import Lsa
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Summary
from penstock.wire.frames.unsub import Unsub

# (purpose, port or traffic class)
_Timer: TypeAlias = tuple[str, str | int]
_Handler: TypeAlias = Callable[[Any, Port, Instant], None]

# Leaves 65,536 sequence numbers for the announcements of one epoch. A broker that needs more is
# corrected by its neighbours, which report its latest number in their summaries.
_EPOCH_SEQ_BITS: Final = 16


class Broker:
    """One broker; `counters` may be read at any time.

    With `records_decisions` it outputs a `Record` of a `RoutingDecision` for each handled message.
    """

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        encoder: Encoder,
        *,
        network: int = 0,
        settings: OverlaySettings = DEFAULTS,
        routing_key: RoutingKey | None = None,
        records_decisions: bool = False,
    ) -> None:
        if broker_id == CLIENT:
            raise UsageError("brokers are numbered from 1: 0 stands for a client")
        self.id = broker_id
        self.epoch = epoch
        self.counters: Counters = new_counters()
        self._settings = settings
        self._out = OutputQueue()
        self._timers: Timers[_Timer] = Timers()
        self._is_started = False
        self._neighbours = Neighbours(settings.links_max)
        self._clients = ClientSessions(encoder, settings, self.counters)
        self._hello_protocol = HelloProtocol(
            broker_id, epoch, network, self._neighbours, self._clients, self.counters, self._out
        )
        self._routing = RoutingDatabase(
            broker_id,
            epoch << _EPOCH_SEQ_BITS,
            encoder.params,
            self._neighbours,
            settings,
            self.counters,
            self._out,
        )
        self._forwarder = Forwarder(
            broker_id,
            epoch,
            encoder,
            routing_key or RoutingKey(encoder),
            self._clients,
            self._routing,
            settings.seen_max,
            self.counters,
            self._out,
            records_decisions=records_decisions,
        )
        self._neighbour_handlers: dict[type, _Handler] = {
            Lsa: self._routing.on_lsa,
            Adv: self._routing.on_adv,
            Summary: self._routing.on_summary,
            Packet: self._forwarder.on_packet,
        }
        self._client_handlers: dict[type, _Handler] = {
            Hello: self._on_client_hello,
            Sub: self._on_sub,
            Unsub: self._on_unsub,
            Pub: self._forwarder.on_pub,
            # Frames that were in flight when the link went down.
            **dict.fromkeys(self._neighbour_handlers, self._on_unknown_sender),
        }
        self._timer_handlers: dict[str, Callable[[Any, Instant], None]] = {
            "hello": self._on_hello_timer,
            "dead": self._on_dead_timer,
            "coalesce": self._on_batch_timer,
            "refresh": self._on_refresh_timer,
            "compare": self._on_sync_timer,
        }

    # Machine interface ----------------------------------------------------------------------

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Handles one frame; an invalid frame is counted and changes nothing."""
        if not self._is_started:
            self._start(now)
        link = self._neighbours.links.get(via)
        try:
            if link is None:
                handle = self._client_handlers.get(type(frame))
            elif type(frame) is Hello:
                handle = self._on_neighbour_hello
            elif link.broker is not None:
                handle = self._neighbour_handlers.get(type(frame))
            else:
                handle = self._on_unknown_sender
            if handle is None:
                raise PeerError(f"{type(frame).__name__} has no business on {via}")
            handle(frame, via, now)
        except (PeerError, UsageError):
            # A UsageError means that the frame asks for a value that we may not construct
            # ourselves.
            self.counters[Count.MALFORMED] += 1

    def wake(self, *, now: Instant) -> None:
        """Runs all timers that are due."""
        for kind, key in self._timers.due(now):
            self._timer_handlers[kind](key, now)

    def next_wakeup(self) -> Instant | None:
        """The time of the next `wake` call; None before the first input."""
        return self._timers.next_wakeup()

    def poll(self) -> Send[OverlayFrame] | Record | None:
        """The next frame to send or decision to record; a decision precedes its frame."""
        return self._out.poll()

    # Commands of the driver -----------------------------------------------------------------

    def link_up(self, port: Port, cost: int, *, now: Instant) -> None:
        """Adds a link to another broker, or changes the cost of an existing one."""
        self.disconnect_client(port, now=now)
        is_new = port not in self._neighbours
        if self._neighbours.add(port, cost):
            self._routing.announce_links()
        if is_new:
            self._hello_protocol.send(port)

    def link_down(self, port: Port, *, now: Instant) -> None:
        """Removes a link that is known to be down, without waiting for the dead timer."""
        self._start(now)
        self._timers.cancel(("dead", port))
        if self._neighbours.remove(port):
            self._routing.announce_links()

    def disconnect_client(self, port: Port, *, now: Instant) -> None:
        """Ends the session of the client on this port."""
        self._start(now)
        self._clients.disconnect(port)
        self._schedule_adverts(now)

    # Inspection -----------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """The number of entries of each table; `OverlaySettings` has the bounds."""
        data, request = self._routing.adverts
        return {
            "links": len(self._neighbours),
            "lsas": len(self._routing.links),
            "data_adverts": len(data),
            "data_filters": data.filter_count,
            "request_adverts": len(request),
            "request_filters": request.filter_count,
            "clients": len(self._clients),
            "seen": len(self._forwarder.duplicate_filter),
        }

    @property
    def links(self) -> dict[Port, bool]:
        """Whether each link is up in both directions, by port."""
        return {port: link.is_up for port, link in self._neighbours.links.items()}

    @property
    def reachable(self) -> list[int]:
        """The other brokers that can be reached, in ascending order."""
        return sorted(self._routing.ports())

    def advertised(self, traffic: TrafficClass = TrafficClass.DATA) -> tuple[int, ...]:
        """The Bloom sets that this broker advertises."""
        return self._routing.adverts[traffic].own.filters

    def advertised_by(
        self, origin: int, traffic: TrafficClass = TrafficClass.DATA
    ) -> tuple[int, ...]:
        """The Bloom sets that another broker advertises."""
        return self._routing.adverts[traffic].filters(origin)

    # Neighbours and clients -----------------------------------------------------------------

    def _on_neighbour_hello(self, hello: Hello, via: Port, now: Instant) -> None:
        change = self._hello_protocol.on_neighbour(hello, via)
        if change is not None:
            self._timers.set(("dead", via), now + self._settings.dead_ns)
            if change.lost or change.gained:
                self._routing.announce_links()
            if change.gained:
                self._routing.summarise_to(via)

    def _on_unknown_sender(self, frame: OverlayFrame, via: Port, now: Instant) -> None:  # noqa: ARG002
        self.counters[Count.STRANGER] += 1

    def _on_client_hello(self, hello: Hello, via: Port, now: Instant) -> None:
        self._hello_protocol.on_client(hello, via, now=now)
        self._schedule_adverts(now)

    def _on_sub(self, sub: Sub, via: Port, now: Instant) -> None:
        self._clients.subscribe(via, sub, now=now)
        self._schedule_adverts(now)

    def _on_unsub(self, unsub: Unsub, via: Port, now: Instant) -> None:
        self._clients.unsubscribe(via, unsub.subscription, now=now)
        self._schedule_adverts(now)

    def _schedule_adverts(self, now: Instant) -> None:
        """Starts the batch timers of changed interests, so that one advert covers many changes."""
        for traffic, interest in enumerate(self._clients.interests):
            if interest.changed and ("coalesce", traffic) not in self._timers:
                self._timers.set(("coalesce", traffic), now + self._settings.coalesce_ns)

    # Time -----------------------------------------------------------------------------------

    def _start(self, now: Instant) -> None:
        if not self._is_started:
            self._is_started = True
            self._timers.set(("hello", ""), now + self._settings.hello_ns)
            self._timers.set(("refresh", ""), now + self._settings.refresh_ns)
            # Offset by half a period: a summary that crosses a refresh would look like a missed
            # update.
            self._timers.set(("compare", ""), now + self._settings.compare_ns // 2)

    def _on_hello_timer(self, _: str, now: Instant) -> None:
        self._timers.set(("hello", ""), now + self._settings.hello_ns)
        self._hello_protocol.send_all()

    def _on_dead_timer(self, port: Port, now: Instant) -> None:  # noqa: ARG002
        if self._neighbours.on_dead(port):
            self._routing.announce_links()

    def _on_batch_timer(self, traffic: int, now: Instant) -> None:  # noqa: ARG002
        filters = self._clients.interests[traffic].to_advertise()
        if len(filters) > self._settings.origin_filters_max:
            # Other brokers have no room for all of them. The empty Bloom set matches every message,
            # so this broker receives more than it needs but misses nothing.
            self.counters[Count.OWN_FILTERS_OVERFLOW] += 1
            filters = [0]
        self._routing.announce_filters(TrafficClass(traffic), filters)

    def _on_refresh_timer(self, _: str, now: Instant) -> None:
        self._timers.set(("refresh", ""), now + self._settings.refresh_ns)
        self._routing.refresh()

    def _on_sync_timer(self, _: str, now: Instant) -> None:
        self._timers.set(("compare", ""), now + self._settings.compare_ns)
        self._routing.expire(now=now)
        self._clients.expire(now=now)
        self._schedule_adverts(now)
        for port in self._neighbours.up_ports():
            self._routing.summarise_to(port)
