"""Builds the network of guaranteed streams of an experiment's `[streams]`, with its load.

Each pubend is a stream of its own, with one writer; each host has one durable reader of all of
them. What links go through is scheduled on the experiment's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.settings import (
    BrokerSettings,
    CongestionSettings,
    HostSettings,
    LinkSettings,
    PubendSettings,
    RelaySettings,
)
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant, seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.experiment import Experiment
from penstock.lab.scaled_streams import scaled
from penstock.lab.scenario import Scenario, errors_at_key
from penstock.lab.schema.guaranteed import StreamControl, StreamsPart
from penstock.lab.toml_document import TomlDocument
from penstock.sim.guaranteed.alerts import AlertRecorder
from penstock.sim.guaranteed.crossings import CrossingCounter
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.samples import StreamSampler
from penstock.sim.guaranteed.steady_programs import (
    KINDS,
    PromptReader,
    SteadyWriter,
    WantedKinds,
    bodies_of,
)
from penstock.trace.host_role import HostRole
from penstock.trace.records import CrossingSample, Edge, Host, StreamAlert
from penstock.tracefile.retention import Recording

WRITERS: Final = "writers"
READERS: Final = "readers"
# When brokers know of each other, and when subscriptions are open.
_KNOWN_NS: Final = seconds(0.5)
_OPEN_NS: Final = seconds(1)
# Records after which a log writes what its pubend knows of publishers; no broker restarts here.
_ROLL_RECORDS: Final = 10_000
_BITS_PER_KB: Final = 8 * 1024
# When, whether something begins there rather than ends, and what is done.
_Change: TypeAlias = tuple[Instant, bool, Callable[[], None]]


def build_streams(
    part: StreamsPart,
    experiment: Experiment,
    document: TomlDocument,
    seeds: Seeds,
    recording: Recording,
) -> Scenario:
    """Builds brokers, links, writers and readers, at time 0."""
    return _StreamsBuilder(scaled(part), experiment, document, seeds, recording).build()


class _StreamsBuilder:
    """Builds one network."""

    def __init__(
        self,
        part: StreamsPart,
        experiment: Experiment,
        document: TomlDocument,
        seeds: Seeds,
        recording: Recording,
    ) -> None:
        self._part: Final = part
        self._document: Final = document
        self._seeds: Final = seeds
        self._recording: Final = recording
        self._sample_ns: Final = seconds(experiment.run.sample_s)
        self._origin: Final = seconds(experiment.run.warmup_s)
        self._end: Final = self._origin + seconds(experiment.run.duration_s)
        self._stop: Final = self._end + seconds(experiment.run.drain_s)
        link = part.link
        self._rate_bps: Final = round(link.rate_mbps * 1e6)
        self._network: Final = StreamNetwork(
            seeds.child("world"),
            settings=broker_settings(part),
            delay_ns=round(link.delay_ms * MILLISECOND),
            rate_bps=self._rate_bps,
            with_codec=part.codec,
            link_window_bytes=link.window_bytes,
        )
        # By id, from 1 on; a pubend is called after its broker: PB-1, PB-2, …
        self._pubends: Final = dict(
            enumerate(
                (f"{broker}-{n + 1}" for broker, many in part.pubends.items() for n in range(many)),
                start=1,
            )
        )

    def build(self) -> Scenario:
        """Everything, in the order in which it depends on each other."""
        self._add_brokers()
        self._schedule_changes()
        writers, readers = self._add_programs()
        self._record(writers, readers)
        hosts = [Host(name, "", HostRole.BROKER) for name in self._network.brokers]
        clients = [(w.client, WRITERS, HostRole.PUBLISHER) for w in writers.values()]
        clients += [(r.client, READERS, HostRole.SUBSCRIBER) for r in readers.values()]
        hosts += [Host(c.name, group, role, c.broker) for c, group, role in clients]
        return Scenario(self._network.events, _nothing, self._origin, self._stop, hosts)

    def _add_brokers(self) -> None:
        part, network = self._part, self._network
        with errors_at_key(self._document, "streams", "edges"):
            parents = parents_of(part.edges)
        for key in ("pubends", "hosts"):
            for name in getattr(part, key):
                if name not in parents:
                    known = ", ".join(parents)
                    raise self._document.error(
                        ("streams", key, name),
                        f"there is no broker {name!r} in streams.edges: choose from {known}",
                    )
        for name, own in parents.items():
            streams = {
                id_: pubend
                for id_, pubend in self._pubends.items()
                if pubend.rpartition("-")[0] == name
            }
            broker = network.add_broker(name, streams=streams, parents=len(own))
            broker.disk.roll_records = _ROLL_RECORDS
        for parent, child in part.edges:
            network.connect(child, parent)

    def _schedule_changes(self) -> None:
        """What links and brokers go through; what ends goes before what begins at the same time."""
        changes = [*self._limits(), *self._failures(), *self._workers()]
        for at, _, change in sorted(changes, key=lambda each: each[:2]):
            if at < self._stop:
                self._network.events.schedule(at, change)

    def _limits(self) -> Iterator[_Change]:
        set_rate = self._network.set_rate
        for index, limit in enumerate(self._part.limits):
            parent, child = self._link(limit.link, "limits", index)
            rate_bps = round(limit.kb_per_s * _BITS_PER_KB)
            begin, end = self._span(limit.from_s, limit.to_s, "limits", index)
            yield begin, True, partial(set_rate, child, parent, rate_bps)
            yield end, False, partial(set_rate, child, parent, self._rate_bps)

    def _failures(self) -> Iterator[_Change]:
        network = self._network
        for index, failure in enumerate(self._part.failures):
            begin, end = self._span(failure.from_s, failure.to_s, "failures", index)
            if (failure.link is None) == (failure.broker is None):
                raise self._document.error(
                    ("streams", "failures", index),
                    "a link fails, or a broker: write link = [parent, child] or broker = name",
                )
            if failure.link is not None:
                parent, child = self._link(failure.link, "failures", index)
                yield begin, True, partial(network.cut, child, parent)
                yield end, False, partial(network.connect, child, parent)
                continue
            assert failure.broker is not None
            name = self._broker(failure.broker, "failures", index)
            noticed_ns = seconds(failure.noticed_s)
            yield begin, True, partial(network.crash, name, noticed_ns=noticed_ns)
            yield end, False, partial(self._restart, name)

    def _restart(self, name: str) -> None:
        self._network.restart(name)
        for parent, child in self._part.edges:
            if name in (parent, child):
                self._network.connect(child, parent)

    def _workers(self) -> Iterator[_Change]:
        for index, worker in enumerate(self._part.workers):
            name = self._broker(worker.broker, "workers", index)
            begin, end = self._span(worker.from_s, worker.to_s, "workers", index)
            set_rate = self._network.brokers[name].worker.set_rate
            yield begin, True, partial(set_rate, worker.messages_per_s)
            yield end, False, partial(set_rate, None)

    def _broker(self, name: str, key: str, index: int) -> str:
        if name not in self._network.brokers:
            raise self._document.error(
                ("streams", key, index),
                f"there is no broker {name!r}: choose from {', '.join(self._network.brokers)}",
            )
        return name

    def _link(self, link: list[str], key: str, index: int) -> tuple[str, str]:
        for edge in self._part.edges:
            if sorted(edge) == sorted(link):
                return edge[0], edge[1]
        raise self._document.error(
            ("streams", key, index),
            f"there is no link between {' and '.join(link)}: name one of streams.edges",
        )

    def _span(
        self, from_s: float, to_s: float | None, key: str, index: int
    ) -> tuple[Instant, Instant]:
        if to_s is not None and to_s <= from_s:
            raise self._document.error(
                ("streams", key, index),
                f"it begins at {from_s:g} s and ends at {to_s:g} s: let it begin before",
            )
        end = self._stop if to_s is None else self._origin + seconds(to_s)
        return self._origin + seconds(from_s), end

    def _add_programs(self) -> tuple[dict[int, SteadyWriter], dict[str, PromptReader]]:
        part, network, events = self._part, self._network, self._network.events
        workload = part.workload
        with errors_at_key(self._document, "streams", "workload", "message_bytes"):
            bodies = bodies_of(workload.message_bytes)
        writers = {}
        for id_, pubend in self._pubends.items():
            writers[id_] = writer = SteadyWriter(
                network,
                f"writer-{pubend}",
                pubend.rpartition("-")[0],
                stream=pubend,
                bodies=bodies,
                rate=workload.rate,
                spread=workload.spread,
                rng=self._seeds.rng("writer", pubend),
            )
            writer.start(_OPEN_NS, until=self._end)
        readers = {}
        for place, (host, share) in enumerate(part.hosts.items()):
            with errors_at_key(self._document, "streams", "hosts", host):
                count = _kinds(share)
            readers[host] = PromptReader(
                network,
                f"reader-{host}",
                host,
                streams=tuple(self._pubends.values()),
                # Hosts do not all want the same.
                wanted=WantedKinds(count, first=place * KINDS // len(part.hosts)),
            )
            events.schedule(_KNOWN_NS, readers[host].open)
        return writers, readers

    def _record(self, writers: dict[int, SteadyWriter], readers: dict[str, PromptReader]) -> None:
        network, recording = self._network, self._recording
        delay_ns = round(self._part.link.delay_ms * MILLISECOND)
        if recording.collects(Edge):
            for sender, receiver in network.traffic:
                recording.add(Edge(sender, receiver, self._rate_bps, delay_ns))
        if not self._sample_ns:
            return
        crossings = None
        if recording.collects(CrossingSample):
            crossings = CrossingCounter(network.brokers)
            network.watchers.append(crossings)
        if recording.collects(StreamAlert):
            network.watchers.append(AlertRecorder(network, recording, self._pubends))
        sampler = StreamSampler(
            network,
            recording,
            pubends=self._pubends,
            writers=writers,
            readers=readers,
            crossings=crossings,
        )
        sampler.start(self._sample_ns)


def broker_settings(part: StreamsPart) -> BrokerSettings:
    """What all brokers are set to."""
    control = part.control
    return BrokerSettings(
        pubend=PubendSettings(
            repairs_wait=control.repairs_wait, silence_ns=seconds(control.silence_s)
        ),
        relay=RelaySettings(
            cache_bytes=control.cache_bytes,
            cache_ns=seconds(control.cache_s),
            keeps_late_alerts=control.keeps_late_alerts,
            silence_ns=seconds(control.silence_s),
            tells_with_queries=control.rate == "model",
        ),
        host=_host_settings(control),
        link=LinkSettings(queue_bytes=part.link.queue_bytes, pubends_take_turns=control.turns),
        congestion=_congestion_settings(control),
    )


def _congestion_settings(control: StreamControl) -> CongestionSettings:
    retry = control.retry
    return CongestionSettings(
        rate_law=control.rate,
        rate=RateSettings(
            recovery_gain=control.recovery_gain,
            floor_share=control.floor_share,
            holds_decreases=control.holds_decreases,
            recovers_afresh=control.recovers_afresh,
        ),
        publishers_take_turns=control.turns,
        queries_quicken=control.queries_quicken,
        window_doubles=control.window_doubles,
        window_law="fixed" if control.window == "none" else control.window,
        live=control.live,
        filtered_repair=control.filtered_repair,
        retry_ns=None if isinstance(retry, str) else seconds(retry),
    )


def _host_settings(control: StreamControl) -> HostSettings:
    return HostSettings(
        receive_window_ns=seconds(control.receive_window_s),
        nack_window_ns=seconds(control.reach_s if control.window == "none" else control.window_s),
        nack_range_ns=seconds(control.range_s),
        nack_retry_ns=seconds(control.retry_min_s),
    )


def parents_of(edges: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The parents of each broker, from the top down; refuses what is no hierarchy."""
    names = dict.fromkeys(name for edge in edges for name in edge)
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in edges:
        if parent == child:
            raise UsageError(f"{child} cannot be its own parent: name two brokers")
        if parent in parents[child]:
            raise UsageError(f"the link from {parent} to {child} is there twice: name it once")
        parents[child].append(parent)
    placed: dict[str, list[str]] = {}
    while len(placed) < len(parents):
        ready = [
            name
            for name, own in parents.items()
            if name not in placed and all(parent in placed for parent in own)
        ]
        if not ready:
            rest = ", ".join(name for name in parents if name not in placed)
            raise UsageError(f"some of {rest} are above themselves: write [parent, child]")
        placed.update((name, parents[name]) for name in ready)
    return placed


def _kinds(share: float) -> int:
    kinds = round(share * KINDS)
    if abs(kinds - share * KINDS) > 1e-9:
        raise UsageError(f"{share:g} is no number of tenths: write 0.1, 0.2, … 1")
    return kinds


def _nothing() -> None:
    """Nothing is left to deliver at the end."""
