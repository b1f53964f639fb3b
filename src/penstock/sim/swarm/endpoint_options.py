"""Options of a swarm run with transports: its network, and the endpoints above it.

Networks are smaller than in other runs, because two clients are enough to test a transport.
Applications choose among a few interests, so that several clients subscribe to the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.loss import Bernoulli
from penstock.sim.swarm.congestion_options import draw_congestion
from penstock.sim.swarm.options import PERIODS, Options, draw_options
from penstock.sim.swarm.recovery_options import draw_recoveries
from penstock.sim.swarm.workload import FILTERS
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.order.latch import LATCH_MAX_NS, ConditionalLatch
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import (
    DEFAULT,
    OFF,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
    constant,
    literal,
)

# One ordering of every kind; `_draw_ordering` draws the limits and delays.
ORDERINGS: Final = {
    "default": DEFAULT,
    "off": OFF,
    "literal": literal(),
    "printed": literal(as_printed=True),
    "basic": literal(record_used=0),
    "constant": constant(20 * MILLISECOND),
    "constant with record": constant(20 * MILLISECOND, record_used=10),
    "eager": OrderingSettings(latch=ConditionalLatch(0.3), loss_share=1),
    "cautious": OrderingSettings(is_cautious=True),
    "as sets": OrderingSettings(bloom=BloomParams(128, 3)),
}
# Rates of links between brokers, or to clients, in a controlled run: some 100 messages/s.
BOTTLENECKS_BPS: Final = (100_000, 300_000, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """The options of one run; `network` includes the rates of messages and changes."""

    network: Options
    settings: EndpointSettings
    # Interests and orderings that applications choose from.
    interests: tuple[str, ...]
    orderings: tuple[OrderingSettings, ...]
    # The largest burst, and the gap between its messages: short enough for them to overtake.
    burst_max: int
    burst_gap_ns: Duration
    # The time from the end of faults and losses to the end of all subscriptions.
    calm_ns: Duration
    # Recovery settings, assigned to clients round-robin; None for no recovery.
    recoveries: tuple[RecoverySettings | None, ...] = (None,)
    # The probability that a client whose settings allow it also caches messages for others.
    cache_chance: float = 0
    # Congestion control, assigned to clients round-robin; (None,) for none.
    congestion: tuple[CongestionSettings | None, ...] = (None,)
    # Weights of subscriptions, chosen by their interest and ordering.
    weights: tuple[float, ...] = (1.0,)
    # Brokers mark messages that enter a queue fuller than this share; None for no marks.
    ecn_threshold: float | None = None

    def __str__(self) -> str:
        own = [f"  {f.name} = {getattr(self, f.name)!r}" for f in fields(self)[1:]]
        return "\n".join([str(self.network), *own])

    @property
    def seed(self) -> int:
        """The seed that all options are drawn from."""
        return self.network.seed

    @property
    def is_controlled(self) -> bool:
        """Whether congestion control paces the messages of at least some clients."""
        return self.congestion != (None,)


def draw_endpoint_options(seed: int) -> EndpointOptions:
    """Draws a run with faults, loss and churn, each to a varying degree."""
    rng = Seeds(seed).rng("swarm", "endpoints")
    drawn = draw_options(seed)
    network = replace(
        drawn,
        brokers=min(drawn.brokers, 4),
        clients=min(drawn.clients, 5),
        # Messages overtake each other where several workers serve at varying speed.
        workers=rng.choice((0, 2, 4, 4)),
        service_ns=rng.randint(100, 4_000) * MICROSECOND,
        stagger_ns=min(drawn.stagger_ns, 100 * MILLISECOND),
        messages_per_s=rng.choice((50, 200, 400)),
        changes_per_s=rng.choice((0, 5, 20)),
        stale_brokers=0,
        safety_ns=rng.randint(800, 1_500) * MILLISECOND,
        settings=PERIODS,
        is_undersized=False,
    )
    record = RecordSettings(
        size=rng.choice((0, 1, 5, 10, 10, 30)),
        cover_ns=rng.choice((None, None, 20 * MILLISECOND)),
        numbers=rng.choice(((), ("a",))),
        bloom=BloomParams(128, 3) if rng.random() < 0.2 else None,
    )
    options = EndpointOptions(
        network=network,
        settings=EndpointSettings(record=record, publishers_max=rng.choice((16_384,) * 6 + (2, 1))),
        interests=tuple(
            rng.choice(FILTERS).format(rng.randrange(10)) for _ in range(rng.randint(1, 3))
        )
        + ("a = 3", "true")[: rng.randint(0, 2)],
        orderings=tuple(_draw_ordering(rng) for _ in range(rng.randint(2, 5))),
        burst_max=rng.choice((1, 5, 30)),
        burst_gap_ns=rng.choice((0, 100_000, MILLISECOND, 5 * MILLISECOND)),
        calm_ns=rng.choice((0, 0, 300)) * MILLISECOND,
    )
    return _with_recovery(options)


def _with_recovery(options: EndpointOptions) -> EndpointOptions:
    """Adds recovery to some runs, with more loss, and interests that records describe."""
    rng = Seeds(options.seed).rng("swarm", "endpoints", "recovery")
    recoveries = draw_recoveries(rng)
    if recoveries == (None,):
        return options
    network = options.network
    loss = rng.choice((Bernoulli(0.02), Bernoulli(0.1), network.link.loss))
    network = replace(
        network,
        link=replace(network.link, loss=loss),
        messages_per_s=min(network.messages_per_s, 100),
    )
    record = replace(options.settings.record, size=rng.choice((1, 5, 10, 10, 30)))
    if record.bloom is not None:
        # Only Bloom sets of the size that the overlay uses can route a request.
        record = replace(record, bloom=BloomParams())
    if any(r is not None and r.digests for r in recoveries) and rng.random() < 0.2:
        # Long enough for endpoints to learn that digests are needed, and to use them.
        network = replace(network, safety_ns=4 * SECOND, messages_per_s=50, changes_per_s=5)
        record = replace(record, size=1)
    publishers_max = rng.choice((16_384,) * 6 + (2, 1))
    return replace(
        options,
        network=network,
        settings=replace(options.settings, record=record, publishers_max=publishers_max),
        interests=(*options.interests[:1], rng.choice(("true", "exists a", "a in (1, 2, 3, 4)"))),
        orderings=tuple(
            replace(ordering, hold_for_repair_ns=rng.choice((0, 0, 50, 1_000)) * MILLISECOND)
            for ordering in options.orderings
        ),
        calm_ns=rng.choice((0, 300, 1_000)) * MILLISECOND,
        recoveries=recoveries,
        cache_chance=rng.choice((0, 0, 0.5)),
    )


def draw_controlled_options(seed: int) -> EndpointOptions:
    """Draws the run of `draw_endpoint_options` with congestion control, mostly on narrow links."""
    options = draw_endpoint_options(seed)
    rng = Seeds(seed).rng("swarm", "endpoints", "congestion")
    network = options.network
    narrow, rate_bps = rng.choice((None, "link", "link", "access")), rng.choice(BOTTLENECKS_BPS)
    queue_bytes_max = rng.choice((3_000, 10_000))
    if narrow is not None:
        spec = getattr(network, narrow)
        spec = replace(spec, rate_bps=rate_bps, queue_bytes_max=queue_bytes_max)
        network = replace(network, **{narrow: spec})
    return replace(
        options,
        # Long enough for round trips to be measured, and for rates to change.
        network=replace(network, safety_ns=max(network.safety_ns, rng.choice((1, 2)) * SECOND)),
        congestion=draw_congestion(rng),
        weights=rng.choice(((1.0,), (1.0, 3.0), (0.5, 1.0, 10.0))),
        ecn_threshold=rng.choice((None, 0.1, 0.5)),
        # In some runs long enough that the oldest queued messages must have been sent.
        calm_ns=rng.choice((0, 300, 3_000)) * MILLISECOND,
    )


def _draw_ordering(rng: Random) -> OrderingSettings:
    return replace(
        ORDERINGS[rng.choice(list(ORDERINGS))],
        max_delay_ns=rng.choice((LATCH_MAX_NS, LATCH_MAX_NS, 100 * MILLISECOND, MILLISECOND, 0)),
        late=rng.choice(("deliver", "drop")),
        remember_ns=rng.choice((10 * SECOND, 200 * MILLISECOND, 10 * MILLISECOND, 0)),
        held_max=rng.choice((1_000, 1_000, 5, 1)),
        missing_max=rng.choice((1_000, 1_000, 10, 1)),
    )
