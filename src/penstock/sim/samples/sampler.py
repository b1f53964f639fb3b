"""Samples all parts of a network at a fixed interval."""

from __future__ import annotations

from typing import Any, Final

from penstock.kernel.instant import Duration
from penstock.sim.samples.endpoints import endpoints_in
from penstock.sim.samples.links import link_state
from penstock.sim.samples.tcp import TcpSamples
from penstock.sim.tcp import TcpConnection
from penstock.sim.world import World
from penstock.trace.records import CacheSample, FlowSample, LinkSample, QueueSample, TcpSample
from penstock.tracing.names import Names
from penstock.tracing.row_sink import RowSink
from penstock.tracing.samples.caches import cache_samples
from penstock.tracing.samples.flows import FlowSamples
from penstock.tracing.samples.links import LinkSamples


class Sampler:
    """Samples one network."""

    def __init__(self, sink: RowSink, names: Names) -> None:
        self._add: Final = sink.add
        self._collects: Final = sink.collects
        self._names: Final = names
        self._links: Final = LinkSamples()
        self._tcp: Final = TcpSamples()
        self._flows: Final = FlowSamples(names)

    def add_connection(self, connection: TcpConnection) -> None:
        """Adds a TCP connection to the samples."""
        self._tcp.add(connection)

    def start(self, world: World[Any], interval_ns: Duration) -> None:
        """Starts sampling, unless no samples are collected."""
        samples = (LinkSample, QueueSample, CacheSample, FlowSample, TcpSample)
        if any(self._collects(sample) for sample in samples):
            self._schedule_next(world, interval_ns)

    def _schedule_next(self, world: World[Any], interval_ns: Duration) -> None:
        world.events.schedule(world.events.now + interval_ns, self._sample, world, interval_ns)

    def _sample(self, world: World[Any], interval_ns: Duration) -> None:
        if self._collects(LinkSample) or self._collects(QueueSample):
            self._sample_links(world, interval_ns)
        if self._collects(CacheSample):
            self._sample_caches(world)
        if self._collects(TcpSample):
            for sample in self._tcp.sample(now=world.now):
                self._add(sample)
        if self._collects(FlowSample):
            self._sample_flows(world, interval_ns)
        self._schedule_next(world, interval_ns)

    def _sample_links(self, world: World[Any], interval_ns: Duration) -> None:
        for link in world.links.values():
            # Access links have no queue and no loss: there is nothing to sample.
            if link.rate_bps is not None:
                carried, queued = self._links.sample(
                    link.name, link_state(link), interval_ns, now=world.now
                )
                if self._collects(LinkSample):
                    self._add(carried)
                if self._collects(QueueSample):
                    self._add(queued)

    def _sample_caches(self, world: World[Any]) -> None:
        for host, endpoint in endpoints_in(world):
            recovery = endpoint.recovery
            if recovery is not None:
                caches = (*recovery.cache.sample(), *recovery.publication_cache.sample())
                for sample in cache_samples(host.name, caches, self._names, now=world.now):
                    self._add(sample)

    def _sample_flows(self, world: World[Any], interval_ns: Duration) -> None:
        for host, endpoint in endpoints_in(world):
            if endpoint.congestion is not None:
                flows = endpoint.congestion.sample()
                for sample in self._flows.sample(host.name, flows, interval_ns, now=world.now):
                    self._add(sample)
