"""Samples all parts of a network at a fixed interval."""

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
    """Samples one network; `endpoints` and `publisher_name` map ids to names."""

    def __init__(
        self,
        recording: Recording,
        endpoints: Mapping[int, str],
        publisher_name: Callable[[int], str | None],
    ) -> None:
        self._add: Final = recording.add
        self._collects: Final = recording.collects
        self._publisher_name: Final = publisher_name
        self._links: Final = LinkSamples()
        self._tcp: Final = TcpSamples()
        self._flows: Final = FlowSamples(endpoints)

    def add_connection(self, connection: TcpConnection) -> None:
        """Adds a TCP connection to the samples."""
        self._tcp.add(connection)

    def start(self, world: World[Any], interval_ns: Duration) -> None:
        """Starts sampling, unless the recording collects no samples."""
        samples = (LinkSample, QueueSample, CacheSample, FlowSample, TcpSample)
        if any(self._collects(sample) for sample in samples):
            self._schedule_next(world, interval_ns)

    def _schedule_next(self, world: World[Any], interval_ns: Duration) -> None:
        world.events.schedule(world.events.now + interval_ns, self._sample, world, interval_ns)

    def _sample(self, world: World[Any], interval_ns: Duration) -> None:
        if self._collects(LinkSample) or self._collects(QueueSample):
            self._sample_links(world, interval_ns)
        if self._collects(CacheSample):
            for host in world.hosts.values():
                for cache_sample in self._sample_caches(host, world.now):
                    self._add(cache_sample)
        if self._collects(TcpSample):
            for sample in self._tcp.sample(now=world.now):
                self._add(sample)
        if self._collects(FlowSample):
            for host in world.hosts.values():
                for row in self._flows.sample(host, interval_ns, now=world.now):
                    self._add(row)
        self._schedule_next(world, interval_ns)

    def _sample_links(self, world: World[Any], interval_ns: Duration) -> None:
        for link in world.links.values():
            # Access links have no queue and no loss: there is nothing to sample.
            if link.rate_bps is not None:
                carried, queued = self._links.sample(link, interval_ns, now=world.now)
                if self._collects(LinkSample):
                    self._add(carried)
                if self._collects(QueueSample):
                    self._add(queued)

    def _sample_caches(self, host: Host[Any, Any], now: Instant) -> Iterator[CacheSample]:
        endpoint = host.machine
        if not isinstance(endpoint, Endpoint) or endpoint.recovery is None:
            return
        recovery = endpoint.recovery
        for status in (*recovery.cache.sample(), *recovery.publication_cache.sample()):
            publisher = self._publisher_name(status.publisher)
            if publisher is not None:
                yield CacheSample(now, host.name, publisher, *status[1:])
