"""The options of one swarm run, as one value that prints in full.

They are drawn from the seed alone. Equal options give equal runs, so that a failure can be
replayed, and reduced by hand with `dataclasses.replace`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final

from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.overlay.settings import OverlaySettings
from penstock.sim.faults import FAULT_KINDS
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli, GilbertElliott, LossModel
from penstock.sim.topology import Topology, line, mesh, scale_free, star, tree

# Short periods: a swarm run must include several of each within seconds.
PERIODS: Final = OverlaySettings(
    hello_ns=300 * MILLISECOND,
    dead_ns=900 * MILLISECOND,
    refresh_ns=1_000 * MILLISECOND,
    expire_ns=2_600 * MILLISECOND,
    coalesce_ns=20 * MILLISECOND,
    compare_ns=600 * MILLISECOND,
    client_dead_ns=1_500 * MILLISECOND,
)
SUBSCRIPTIONS_MAX: Final = 4
TOPOLOGIES: Final = ("line", "star", "tree", "scale_free", "mesh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All options of one run."""

    seed: int
    topology: str
    brokers: int
    clients: int
    link: LinkSpec
    access: LinkSpec
    # With 0, brokers process frames at once; with more than 1, frames overtake.
    workers: int
    service_ns: Duration
    queue_frames_max: int
    codec: bool
    # Hosts start one by one within this time, so that their timers are not synchronised.
    stagger_ns: Duration
    offset_ns_max: Duration
    drift_ppm_max: float
    faults: int
    fault_kinds: tuple[str, ...]
    changes_per_s: float
    messages_per_s: float
    payload_bytes: int
    # Brokers that no longer exist, of which stale adverts circulate.
    stale_brokers: int
    # The probability that a leaving client is disconnected at its broker.
    leave_announced_chance: float
    safety_ns: Duration
    probes: int
    settings: OverlaySettings
    # Whether a table is too small for the run, so that not all clients can be served.
    is_undersized: bool
    # Whether the other options exclude loss, faults and full queues.
    is_clean: bool = False

    def __str__(self) -> str:
        return "\n".join(f"  {f.name} = {getattr(self, f.name)!r}" for f in fields(self))

    @property
    def corrupts_frames(self) -> bool:
        """Whether frames may be altered: a flipped bit that still decodes."""
        return self.codec and self.faults > 0 and "corruption" in self.fault_kinds

    def build_topology(self) -> Topology:
        """Draws the topology from the seed."""
        seeds, size = Seeds(self.seed).child("swarm"), self.brokers
        rng = seeds.rng("topology")
        match self.topology:
            case "line":
                return line(size)
            case "star":
                return star(size)
            case "tree" if size > 3:
                return tree(size, rng.randint(2, size - 1), seeds)
            case "scale_free" if size > 3:
                return scale_free(size, seeds, edges_per_node=rng.randint(1, 2))
            case _:
                edges_max = size * (size - 1) // 2
                return mesh(size, rng.randint(size - 1, min(edges_max, size + 4)), seeds)


def draw_options(seed: int) -> Options:
    """Draws a run with more or less faults, loss and churn."""
    rng = Seeds(seed).rng("swarm", "options")
    # Small networks more often: they find as many bugs, sooner.
    brokers = rng.randint(2, rng.choice((6, 6, 12)))
    clients = rng.randint(2, rng.choice((8, 8, 16)))
    settings, is_undersized = _bounds(rng, brokers, clients)
    is_lossy = rng.random() < 0.6
    return Options(
        seed=seed,
        topology=rng.choice(TOPOLOGIES),
        brokers=brokers,
        clients=clients,
        link=_link(rng, _loss(rng) if is_lossy else None),
        access=_access(rng, _loss(rng) if is_lossy and rng.random() < 0.5 else None),
        workers=rng.choice((0, 1, 2, 4)),
        service_ns=rng.randint(20, 400) * MICROSECOND,
        queue_frames_max=rng.choice((200, 500)),
        codec=rng.random() < 0.3,
        stagger_ns=rng.choice((0, 500)) * MILLISECOND,
        offset_ns_max=rng.choice((0, 0, SECOND, 3_600 * SECOND)),
        drift_ppm_max=rng.choice((0, 100, 100, 20_000)),
        faults=rng.choice((0, 2, 4, 8, 12)),
        fault_kinds=tuple(kind for kind in FAULT_KINDS if rng.random() < 0.6) or FAULT_KINDS,
        changes_per_s=rng.choice((0, 5, 20, 60)),
        messages_per_s=rng.choice((10, 30, 30, 100, 300)),
        payload_bytes=rng.choice((0, 0, 0, 900)),
        stale_brokers=rng.choice((0, 0, 1, 2)),
        leave_announced_chance=rng.choice((0, 0.5, 1)),
        safety_ns=rng.randint(2_000, 3_000) * MILLISECOND,
        probes=10,
        settings=settings,
        is_undersized=is_undersized,
    )


def draw_clean_options(seed: int) -> Options:
    """Draws a run without loss, faults or overload, where all guarantees hold all the time."""
    rng = Seeds(seed).rng("swarm", "clean")
    options = draw_options(seed)
    link = LinkSpec(
        rate_bps=rng.choice((None, 20_000_000, 100_000_000)),
        delay_ns=rng.randint(0, 5) * MILLISECOND,
        queue_bytes_max=200_000,
    )
    settings = replace(PERIODS, seen_max=rng.choice((64, 4_096)))
    return replace(
        options,
        link=replace(link, jitter_ns=rng.choice((0, link.delay_ns))),
        access=LinkSpec(delay_ns=rng.randint(0, 5) * MILLISECOND),
        workers=rng.choice((0, 0, 1, 1, 4)),
        service_ns=rng.randint(20, 200) * MICROSECOND,
        queue_frames_max=10_000,
        drift_ppm_max=min(options.drift_ppm_max, 100),
        faults=0,
        messages_per_s=30,
        payload_bytes=0,
        stale_brokers=0,
        safety_ns=3 * SECOND,
        settings=settings,
        is_undersized=False,
        is_clean=True,
    )


def _link(rng: Random, loss: LossModel | None) -> LinkSpec:
    delay_ns = rng.choice((0, rng.randint(1, 30))) * MILLISECOND
    return LinkSpec(
        rate_bps=rng.choice((None, 2_000_000, 10_000_000, 100_000_000)),
        delay_ns=delay_ns,
        jitter_ns=int(delay_ns * rng.choice((0, 0.1, 1))),
        loss=loss,
        queue_bytes_max=rng.choice((15_000, 64_000)),
    )


def _access(rng: Random, loss: LossModel | None) -> LinkSpec:
    delay_ns = rng.choice((0, rng.randint(1, 10))) * MILLISECOND
    return LinkSpec(delay_ns=delay_ns, jitter_ns=int(delay_ns * rng.choice((0, 0.5))), loss=loss)


def _loss(rng: Random) -> LossModel:
    chance = rng.choice((0.01, 0.05, 0.2))
    if rng.random() < 0.5:
        return Bernoulli(chance)
    return GilbertElliott.of(loss=chance, burst=rng.choice((2, 5, 10)))


def _bounds(rng: Random, brokers: int, clients: int) -> tuple[OverlaySettings, bool]:
    """Table bounds: mostly ample, sometimes just sufficient, rarely too small."""
    kind = rng.random()
    if kind < 0.6:
        return PERIODS, False
    origin_filters = rng.choice((2, 4, 8))
    sufficient = replace(
        PERIODS,
        links_max=brokers,
        origins_max=brokers,
        origin_filters_max=origin_filters,
        filters_max=origin_filters * (brokers - 1),
        clients_max=clients,
        client_subscriptions_max=SUBSCRIPTIONS_MAX,
        seen_max=64,
    )
    if kind < 0.9:
        return sufficient, False
    match rng.randrange(3):
        case 0:
            return replace(sufficient, origins_max=max(1, brokers - 1)), True
        case 1:
            return replace(sufficient, filters_max=2), True
        case _:
            return replace(sufficient, clients_max=1), True
