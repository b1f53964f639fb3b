"""Builds the broker network and the workload of an experiment for one seed.

Values that the simulator rejects (a jitter longer than its delay, an impossible tree)
are reported as errors at their key in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Final

from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant, seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.builders.casts import build_casts
from penstock.lab.builders.channel import build_channel
from penstock.lab.builders.streams import build_streams
from penstock.lab.builders.tcp import add_tcp_connections
from penstock.lab.experiment import Experiment
from penstock.lab.scenario import Scenario, errors_at_key
from penstock.lab.schema.network import BrokerPart, LinkPart, NetworkPart, Shape
from penstock.lab.schema.workload import (
    BurstRate,
    ConstantRate,
    Group,
    Market,
    PointsRate,
    PublishPart,
    RampRate,
)
from penstock.lab.toml_document import TomlDocument
from penstock.lab.transport_options import endpoint_settings, ordering_settings
from penstock.sim import publish_schedule, topology
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.host import Workers, constant, exponential
from penstock.sim.link_spec import LinkSpec, link_spec
from penstock.sim.publishing_app import EndpointPublishingApp, PublishingApp
from penstock.sim.recorder import Recorder
from penstock.sim.topic_workload import TopicWorkload
from penstock.sim.topology import Edge, Topology
from penstock.sim.topology_file import read_topology
from penstock.sim.zipf_workload import ZipfWorkload
from penstock.trace.host_role import HostRole
from penstock.trace.records import Host
from penstock.tracefile.retention import Recording
from penstock.transport.settings import OrderingSettings


def build_scenario(
    experiment: Experiment, document: TomlDocument, seeds: Seeds, recording: Recording
) -> Scenario:
    """Builds what the experiment runs on with all clients and publishers, at time 0."""
    if experiment.streams is not None:
        return build_streams(experiment.streams, experiment, document, seeds, recording)
    if experiment.casts is not None:
        return build_casts(experiment.casts, experiment, document, seeds, recording)
    if experiment.channel is not None:
        return build_channel(experiment.channel, experiment, document, seeds, recording)
    recorder = Recorder(recording)
    network = _network(experiment, document, seeds, recorder)
    run = experiment.run
    origin = seconds(run.warmup_s)
    end = origin + seconds(run.duration_s)
    recorder.attach(network, sample_every_ns=seconds(run.sample_s) or None)
    clients = _ClientBuilder(experiment, document, seeds, network, recorder, origin, end)
    hosts = [Host(name, "", HostRole.BROKER) for name in network.topology.nodes]
    for name, group in experiment.clients.items():
        hosts += clients.add(name, group)
    add_tcp_connections(experiment, document, seeds, network, recorder, origin)
    recorder.on_built()
    assert experiment.network is not None, "checked when it was read"
    with errors_at_key(document, "network", "changes"):
        _schedule_link_changes(experiment.network, network, origin)
    stop = end + seconds(run.drain_s)

    def close() -> None:
        network.close_endpoints()
        recorder.on_end()

    return Scenario(network.world.events, close, origin, stop, hosts)


def _network(
    experiment: Experiment, document: TomlDocument, seeds: Seeds, recorder: Recorder
) -> BrokerNetwork:
    part = experiment.network
    assert part is not None, "checked when it was read"
    drawn = part.topology.draw
    shape_seeds = seeds.child("topology") if drawn is None else Seeds(drawn)
    with errors_at_key(document, "network", "topology"):
        shape = make_topology(part.topology, shape_seeds)
    with errors_at_key(document, "network", "link"):
        shape = _with_drawn_delays(shape, part.link, seeds.rng("delays"))
        link = make_link(part.link, _delay_ms(part.link))
    return BrokerNetwork(
        seeds.child("world"),
        shape,
        link,
        workers=_workers(part.broker),
        codec=part.codec,
        outlets=recorder.outlets,
        records_decisions=recorder.records_decisions,
        ecn_threshold=part.broker.mark_above,
    )


def _schedule_link_changes(part: NetworkPart, network: BrokerNetwork, origin: Instant) -> None:
    """Schedules the rate changes of links."""
    known = {frozenset((edge.one, edge.other)) for edge in network.topology.edges}
    for change in part.changes:
        one, other = change.between
        if frozenset((one, other)) not in known:
            raise UsageError(f"there is no link between {one} and {other}")
        at = origin + seconds(change.at_s)
        for link in (network.world.link(one, other), network.world.link(other, one)):
            network.world.events.schedule(at, link.set_rate, round(change.rate_mbps * 1e6))


def make_topology(shape: Shape, seeds: Seeds) -> Topology:
    """Builds the topology that a file describes."""
    if shape.shape == "file":
        if shape.path is None:
            raise UsageError('a topology from a file needs path = "…"')
        return read_topology(Path(shape.path))
    if shape.shape == "tree":
        if shape.diameter is None:
            raise UsageError("a tree needs a diameter")
        return topology.tree(shape.size, shape.diameter, seeds, degree_max=shape.degree_max)
    if shape.shape == "mesh":
        if shape.edges is None:
            raise UsageError("a mesh needs edges, how many there are")
        return topology.mesh(shape.size, shape.edges, seeds)
    if shape.shape == "scale_free":
        return topology.scale_free(shape.size, seeds, edges_per_node=shape.edges_per_node)
    return {"line": topology.line, "star": topology.star, "dumbbell": topology.dumbbell}[
        shape.shape
    ](shape.size)


def make_link(link: LinkPart, delay_ms: float) -> LinkSpec:
    """Builds the link that a file describes."""
    return link_spec(
        rate_mbps=link.rate_mbps,
        delay_ms=delay_ms,
        jitter_ms=link.jitter_ms,
        loss=link.loss,
        loss_burst=None if link.loss_burst == 1 else link.loss_burst,
        queue_bytes=link.queue_bytes,
    )


def _delay_ms(link: LinkPart) -> float:
    return link.delay_ms[0] if isinstance(link.delay_ms, list) else link.delay_ms


def _with_drawn_delays(shape: Topology, link: LinkPart, rng: Random) -> Topology:
    if not isinstance(link.delay_ms, list):
        return shape
    low, high = link.delay_ms
    if low > high:
        raise UsageError(f"delay_ms = [{low}, {high}]: write the lower one first")
    edges = [
        edge if edge.spec else replace(edge, spec=make_link(link, rng.uniform(low, high)))
        for edge in shape.edges
    ]
    return Topology(shape.nodes, tuple[Edge, ...](edges))


def _workers(broker: BrokerPart) -> Workers | None:
    if not broker.service_ms:
        return None
    service_ns = round(broker.service_ms * MILLISECOND)
    law = (exponential if broker.law == "exponential" else constant)(max(1, service_ns))
    return Workers(count=broker.workers, service_time=law, queue_frames_max=broker.queue_frames)


class _ClientBuilder:
    """Adds clients to the network, group by group."""

    def __init__(
        self,
        experiment: Experiment,
        document: TomlDocument,
        seeds: Seeds,
        network: BrokerNetwork,
        recorder: Recorder,
        origin: Instant,
        end: Instant,
    ) -> None:
        self._document: Final = document
        self._seeds: Final = seeds
        self._network: Final = network
        self._recorder: Final = recorder
        self._origin: Final = origin
        self._end: Final = end
        self._brokers_in_turn: Final = cycle(network.topology.nodes)
        # Clients are numbered from 1; the number is also the publisher id.
        self._last_client_id = 0
        self._transport: Final = endpoint_settings(experiment.transport)
        self._orderings: Final[dict[str, OrderingSettings]] = {}
        for name, ordering in experiment.orderings.items():
            with errors_at_key(document, "orderings", name):
                self._orderings[name] = ordering_settings(ordering)
        self._workloads: Final[dict[str, TopicWorkload | ZipfWorkload]] = {}
        for name, market in experiment.markets.items():
            with errors_at_key(document, "markets", name):
                self._workloads[name] = make_workload(name, market)

    def add(self, name: str, group: Group) -> list[Host]:
        """Adds the clients of a group, whose names are `GROUP-1`, `GROUP-2`, …"""
        nodes = self._network.topology.nodes
        for broker in group.at or ():
            if broker not in nodes:
                raise self._document.error(
                    ("clients", name, "at"),
                    f"there is no broker {broker!r}: choose from {', '.join(nodes)}",
                )
        brokers = self._brokers_in_turn if group.at is None else cycle(group.at)
        role = HostRole.of_client(publishes=group.publish is not None, subscribes=group.subscribes)
        hosts = []
        for index in range(group.count):
            client, broker = f"{name}-{index + 1}", next(brokers)
            with errors_at_key(self._document, "clients", name):
                self._add_client(client, broker)
                self._subscribe(client, group)
            if group.publish is not None:
                with errors_at_key(self._document, "clients", name, "publish"):
                    self._publish(client, group.publish, index)
            hosts.append(Host(client, name, role, broker))
        return hosts

    def _add_client(self, client: str, broker: str) -> None:
        self._last_client_id += 1
        self._recorder.add_name(client, self._last_client_id)
        if not self._orderings:
            self._network.add_client(client, broker)
            return
        self._network.add_endpoint(
            client,
            broker,
            publisher=self._last_client_id,
            settings=self._transport,
            on_arrived=self._recorder.on_arrived,
        )

    def _subscribe(self, client: str, group: Group) -> None:
        if not group.subscribes:
            return
        filters: list[Filter] = []
        for market, shares in group.subscribe.items():
            rng = self._seeds.rng("interest", client, market)
            share = rng.uniform(shares[0], shares[1]) if isinstance(shares, list) else shares
            filters += self._workloads[market].interest(rng, share).filters
        if group.filter is not None:
            filters += parse(group.filter).filters
        predicate = Predicate(filters)
        if self._orderings:
            self._network.subscribe_endpoint(client, predicate, self._orderings)
        else:
            self._network.subscribe(client, predicate)
        self._recorder.add_subscriber(client, predicate)

    def _publish(self, client: str, part: PublishPart, index: int) -> None:
        rng = self._seeds.rng("publisher", client, "when")
        starts = part.start_s if isinstance(part.start_s, list) else [part.start_s]
        start = self._origin + seconds(starts[index % len(starts)])
        departures = publish_schedule.departures(
            make_rate(part.rate, rng),
            start=start,
            stop=self._end,
            rng=rng,
            poisson=part.spacing == "poisson",
        )
        world, published = self._network.world, self._recorder.on_published
        make = _message_maker(
            self._workloads[part.market], self._seeds.rng("publisher", client, "what")
        )
        host = world.host(client)
        if self._orderings:
            EndpointPublishingApp(world, host, departures, make, on_published=published)
        else:
            PublishingApp(
                world, host, self._last_client_id, departures, make, on_published=published
            )


def make_workload(name: str, market: Market) -> TopicWorkload | ZipfWorkload:
    """Builds the workload of a market: topics, or values of Zipf popularity."""
    if market.zipf is not None:
        return ZipfWorkload(
            name=f"{name}.",
            attributes=market.attributes,
            values=market.zipf.values,
            exponent=market.zipf.exponent,
            constraints_max=market.zipf.constraints,
            asked_share=market.zipf.asked_share,
            payload_bytes=market.payload_bytes,
        )
    return TopicWorkload(
        name=f"{name}.",
        hot=market.hot,
        cold=market.cold,
        hot_share=market.hot_share,
        interest_max=market.hot_share,
        cold_interest=market.cold_interest if market.cold else 0,
        attributes=market.attributes,
        payload_bytes=market.payload_bytes,
    )


def make_rate(
    part: ConstantRate | RampRate | BurstRate | PointsRate, rng: Random
) -> publish_schedule.RateProfile:
    """Builds the rate that a file describes; bursts of publishers have random phases."""
    match part:
        case ConstantRate():
            return publish_schedule.Constant(part.rate)
        case RampRate():
            return publish_schedule.Ramp(start=part.start, stop=part.stop, over_s=part.over_s)
        case PointsRate():
            return publish_schedule.Points(tuple(part.points))
        case BurstRate():
            return publish_schedule.Bursts(
                base=part.base,
                burst=part.burst,
                burst_s=part.burst_s,
                every_s=part.every_s,
                shift_s=rng.uniform(0, part.every_s),
            )


def _message_maker(workload: TopicWorkload | ZipfWorkload, rng: Random) -> Callable[[], Message]:
    cumulative = workload.cumulative()
    return lambda: workload.message(rng, cumulative)
