"""Records a simulated broker network: binds its world to the tracing of machine facts.

`penstock.tracing` makes the rows. This module knows where a world shows what they are made of:
the outputs of hosts, dropped packets, links, and state that is sampled. Times are global; the
machines see none of this.

For a bare client, each arrival is a delivery. For an endpoint, arrivals are recorded below the
transport (`on_arrived`), and its facts give the fate of each message in each ordering.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Protocol

from penstock.content.filter import Predicate
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Deliver, Record
from penstock.sim.host import Host, Outlets
from penstock.sim.observer import DropReason, Observer
from penstock.sim.samples.endpoints import endpoints_in
from penstock.sim.samples.sampler import Sampler
from penstock.sim.tcp import Passing, TcpConnection
from penstock.sim.world import World
from penstock.trace.fates import LINK_REASONS
from penstock.trace.records import Drop, Edge, Hop
from penstock.tracefile.retention import Recording
from penstock.tracing.drops import Drops
from penstock.tracing.names import Names
from penstock.tracing.publication_times import RecordedTimes
from penstock.tracing.tracer import Tracer
from penstock.wire.frames.data import Data

# The simulator's literals; a lookup is quicker than a call of the enum.
_REASONS: Final = {reason.value: reason for reason in LINK_REASONS}


class Network(Protocol):
    """A network that can be recorded: a network of brokers or a model of one."""

    @property
    def world(self) -> World[Any]:
        """The world that the network runs in."""

    @property
    def orderings(self) -> Mapping[str, Mapping[int, str]]:
        """For each endpoint, the ordering of each subscription by subscription id."""

    def brokers_between(self, one: str, other: str, /) -> int:
        """Number of brokers on the path from one client to another."""


class Recorder(Observer):
    """Records one run; pass `outlets` to the network, then `attach` the network."""

    drops_only = True

    def __init__(self, recording: Recording) -> None:
        self.outlets: Final = Outlets(deliver=self._on_deliver, record=self._on_record)
        self.records_decisions: Final = recording.collects(Hop)
        self._recording: Final = recording
        self._names: Final = Names()
        self._drops: Final = Drops(recording.add, self._names)
        self._sampler: Final = Sampler(recording, self._names)
        # Set by `attach`.
        self._world: World[Any]
        self._tracer: Tracer

    def attach(self, network: Network, *, sample_every_ns: Duration | None = None) -> None:
        """Records the network from now on, and samples of its state if an interval is given."""
        self._world = network.world
        self._tracer = Tracer(
            self._recording,
            names=self._names,
            times=RecordedTimes(),
            orderings=network.orderings,
            brokers_between=cache(network.brokers_between),
        )
        if self._recording.collects(Drop):
            network.world.observe(self)
        if sample_every_ns is not None:
            self._sampler.start(network.world, sample_every_ns)

    def on_built(self) -> None:
        """Records the links, once the network is complete."""
        if self._recording.collects(Edge):
            for (start, end), link in self._world.links.items():
                self._recording.add(Edge(start, end, link.rate_bps, link.delay_ns))

    def on_end(self) -> None:
        """Records the messages still queued at publishers when the run ends."""
        now = self._world.now
        for host, endpoint in endpoints_in(self._world):
            if endpoint.congestion is not None:
                for queued in endpoint.congestion.queued:
                    self._tracer.on_queued_at_end(
                        host.name, queued.message, host.now - queued.submitted_ns, now=now
                    )

    def add_name(self, name: str, client_id: int) -> None:
        """Registers the name of a client by the id under which it publishes."""
        self._names[client_id] = name

    def add_subscriber(self, name: str, predicate: Predicate) -> None:
        """Expects `name` to receive each later message that its predicate matches."""
        self._tracer.expectations.add_subscriber(name, predicate)

    def add_connection(self, connection: TcpConnection) -> None:
        """Samples this TCP connection whenever links are sampled."""
        self._sampler.add_connection(connection)

    def on_published(self, frame: Data) -> None:
        """Records a message sent now, unless its endpoint records that itself."""
        self._tracer.on_published(frame, now=self._world.events.now)

    def on_arrived(self, subscriber: str, frame: Any) -> None:
        """Records a frame that the network delivers to `subscriber` now."""
        self._tracer.on_arrived(subscriber, frame, now=self._world.events.now)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Records a packet that a link or a host dropped."""
        if type(frame) is Passing:
            self._drops.on_other(place, "tcp", frame.size_bytes, _REASONS[reason], now)
        else:
            self._drops.on_frame(place, frame, _REASONS[reason], now)

    def _on_deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        self._tracer.on_fact(host.name, output.item, now=self._world.events.now)

    def _on_record(self, host: Host[Any, Any], output: Record) -> None:
        self._tracer.on_fact(host.name, output.row, now=self._world.events.now)
