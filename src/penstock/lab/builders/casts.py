"""Builds the network of an experiment's `[casts]`: paper 004's world, and what happens in it."""

from __future__ import annotations

from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.experiment import Experiment
from penstock.lab.scenario import Scenario, errors_at_key
from penstock.lab.schema.casts import CastsPart
from penstock.lab.toml_document import TomlDocument
from penstock.sim.cast.paper_scene import (
    LINK_DELAY_NS,
    LateSubscribers,
    PaperProtocol,
    PaperScene,
    RelayFailure,
)
from penstock.sim.cast.paper_world import PaperWorld
from penstock.trace.cast_words import CastPart
from penstock.trace.host_role import HostRole
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
    Edge,
    Host,
)
from penstock.tracefile.retention import Recording

CAST_TABLES: Final = tuple(
    record.TABLE
    for record in (CastTransfer, CastCrossing, CastNodeTotal, CastReport, CastYardstick)
)
PUBLISHERS: Final = "publishers"
SUBSCRIBERS: Final = "subscribers"
# As published.
_REPORTED_LOSS: Final = 0.03
_ROLES: Final = {
    CastPart.PUBLISHER: (PUBLISHERS, HostRole.PUBLISHER),
    CastPart.SUBSCRIBER: (SUBSCRIBERS, HostRole.SUBSCRIBER),
}


def build_casts(
    part: CastsPart,
    experiment: Experiment,
    document: TomlDocument,
    seeds: Seeds,
    recording: Recording,
) -> Scenario:
    """Builds all nodes, at time 0; the transfer begins when the warm-up is over."""
    run = experiment.run
    origin = seconds(run.warmup_s)
    stop = origin + seconds(run.duration_s) + seconds(run.drain_s)
    if part.failure is not None and part.failure.after_s >= run.duration_s:
        raise document.error(
            ("casts", "failure", "after_s"),
            f"the run is over after {run.duration_s:g} s: let the relay die before",
        )
    with errors_at_key(document, "casts"):
        world = PaperWorld(_scene(part, seeds))
    world.start_at(origin)
    if recording.collects(Edge):
        for one, other in world.places.links:
            recording.add(Edge(one, other, None, LINK_DELAY_NS))
            recording.add(Edge(other, one, None, LINK_DELAY_NS))

    def close() -> None:
        for row in world.rows():
            if recording.collects(type(row)):
                recording.add(row)

    return Scenario(world.events, close, origin, stop, _hosts(world))


def _hosts(world: PaperWorld) -> list[Host]:
    hosts = []
    for name in world.places.roles:
        group, role = _ROLES.get(world.part_of(name), ("", HostRole.BROKER))
        hosts.append(Host(name, group, role))
    return hosts


def _scene(part: CastsPart, seeds: Seeds) -> PaperScene:
    loss = part.loss
    if loss.reported and loss.path:
        raise UsageError("loss.reported and loss.path say the same in two ways: leave one out")
    late = None
    if part.late is not None and part.protocol == "stream":
        raise UsageError("late: whoever joins a stream late begins with its next block")
    if part.late is not None:
        count = round(part.late.share * part.subscribers)
        if not 0 < count < part.subscribers:
            raise UsageError(
                f"late.share is {count} of {part.subscribers}: some, and not all, join late"
            )
        late = LateSubscribers(count=count, after=part.late.after)
    failure = None
    if part.failure is not None:
        failure = RelayFailure(
            after_ns=seconds(part.failure.after_s),
            replaced_after_ns=seconds(part.failure.replaced_after_s),
        )
    return PaperScene(
        seed=seeds.root,
        routers=part.routers,
        subscribers=part.subscribers,
        protocol=PaperProtocol(part.protocol),
        graph_seed=part.graph_seed,
        packets=part.packets,
        packets_per_s=part.packets_per_s,
        reported_loss=_REPORTED_LOSS if loss.reported is None else loss.reported,
        path_loss=loss.path,
        burst_packets=loss.burst_packets,
        late=late,
        failure=failure,
        train_symbols=part.train_packets,
        stream_block_packets=part.stream_block_packets,
        hold_ns=seconds(part.hold_s),
    )
