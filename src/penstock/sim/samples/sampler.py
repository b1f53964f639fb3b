"""Looks at everything in turn, as often as it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from penstock.kernel.instant import Duration, Instant
from penstock.sim.host import Host
from penstock.sim.samples.flows import FlowSamples
from penstock.sim.samples.links import LinkSamples
from penstock.sim.samples.tcp import TcpSamples
from penstock.sim.tcp import TcpConnection
from penstock.sim.world import World
from penstock.trace.records import CacheSample, FlowSample, LinkSample, QueueSample, TcpSample
from penstock.tracefile.retention import Recording
from penstock.transport.endpoint import Endpoint


class Sampler:
    """Of one network; `endpoints` and `publisher` tell the names behind numbers."""

    def __init__(
        self,
        recording: Recording,
        endpoints: Mapping[int, str],
        publisher: Callable[[int], str | None],
    ) -> None:
        self._add: Final = recording.add
        self._wants: Final = recording.wants
        self._publisher: Final = publisher
        self._links: Final = LinkSamples()
        self._tcp: Final = TcpSamples()
        self._flows: Final = FlowSamples(endpoints)

    def connection(self, connection: TcpConnection) -> None:
        """One more to be looked at."""
        self._tcp.watch(connection)

    def begin(self, world: World[Any], interval_ns: Duration) -> None:
        """From now on, unless nothing of it is wanted."""
        samples = (LinkSample, QueueSample, CacheSample, FlowSample, TcpSample)
        if any(self._wants(sample) for sample in samples):
            self._again(world, interval_ns)

    def _again(self, world: World[Any], interval_ns: Duration) -> None:
        world.events.schedule(world.events.now + interval_ns, self._sample, world, interval_ns)

    def _sample(self, world: World[Any], interval_ns: Duration) -> None:
        if self._wants(LinkSample) or self._wants(QueueSample):
            self._sample_links(world, interval_ns)
        if self._wants(CacheSample):
            for host in world.hosts.values():
                for held in self._caches(host, world.now):
                    self._add(held)
        if self._wants(TcpSample):
            for sample in self._tcp.take(now=world.now):
                self._add(sample)
        if self._wants(FlowSample):
            for host in world.hosts.values():
                for row in self._flows.of(host, interval_ns, now=world.now):
                    self._add(row)
        self._again(world, interval_ns)

    def _sample_links(self, world: World[Any], interval_ns: Duration) -> None:
        for link in world.links.values():
            # Access links have no queue and no loss: nothing to be seen.
            if link.rate_bps is not None:
                carried, queued = self._links.of(link, interval_ns, now=world.now)
                if self._wants(LinkSample):
                    self._add(carried)
                if self._wants(QueueSample):
                    self._add(queued)

    def _caches(self, host: Host[Any, Any], now: Instant) -> Iterator[CacheSample]:
        endpoint = host.machine
        if not isinstance(endpoint, Endpoint) or endpoint.recovery is None:
            return
        recovery = endpoint.recovery
        for held in (*recovery.cache.sample(), *recovery.publication_cache.sample()):
            publisher = self._publisher(held.publisher)
            if publisher is not None:
                yield CacheSample(now, host.name, publisher, *held[1:])
