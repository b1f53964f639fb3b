"""Adds an experiment's `[tcp]` connections to the links of its network."""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant, seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.experiment import Experiment
from penstock.lab.scenario import errors_at_key
from penstock.lab.schema.network import TcpPart
from penstock.lab.toml_document import TomlDocument
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.recorder import Recorder
from penstock.sim.tcp import TcpConnection, TcpOptions


def add_tcp_connections(
    experiment: Experiment,
    document: TomlDocument,
    seeds: Seeds,
    network: BrokerNetwork,
    recorder: Recorder,
    origin: Instant,
) -> None:
    """Adds all connections and schedules the start and stop of each."""
    for name, part in experiment.tcp.items():
        with errors_at_key(document, "tcp", name):
            stop_s = experiment.run.duration_s if part.stop_s is None else part.stop_s
            if not part.start_s < stop_s:
                raise UsageError(
                    f"it begins at {part.start_s:g} s and ends at {stop_s:g} s: let it begin before"
                )
            connection = _connection(name, part, seeds, network)
            connection.plan(origin + seconds(part.start_s), origin + seconds(stop_s))
            recorder.add_connection(connection)


def _connection(name: str, part: TcpPart, seeds: Seeds, network: BrokerNetwork) -> TcpConnection:
    one, other = part.between
    if other not in network.topology.neighbours().get(one, ()):
        raise UsageError(f"there is no link between {one} and {other}: name two neighbours")
    world = network.world
    options = TcpOptions(
        algorithm=part.algorithm,
        segment_bytes=part.segment_bytes,
        delayed_acks=part.delayed_acks,
        limited_transmit=part.limited_transmit,
        rto_min_ns=round(part.rto_min_ms * MILLISECOND),
    )
    return TcpConnection(
        name,
        world.link(one, other),
        world.link(other, one),
        options,
        events=world.events,
        seeds=seeds.child("tcp"),
    )
