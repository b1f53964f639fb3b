"""What a seed draws for a swarm test of casts.

Networks, objects and times are small, so that a run takes a quarter of a second: variety comes from
the number of seeds, not from their length.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final

from penstock.bloomcast.filters.packet_filter import ONES_MAX
from penstock.bloomcast.settings import CastSettings, StreamOverflow, StreamSettings
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.swarm.cast_controllers import Controllers
from penstock.wire.frames.cast.transfer import RepairChoice

SYMBOL_BYTES: Final = 64
# Faults that are over so soon are no reason to give up anybody.
SHORT_NS: Final[Duration] = 500 * MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class CastWorld:
    """A network; its first routers are the controllers."""

    name: str
    routers: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    # By router, the hosts of its local network.
    lans: tuple[tuple[str, tuple[str, ...]], ...] = ()
    publisher: str = "p"
    receivers: tuple[str, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """All nodes but routers."""
        named = [node for link in self.links for node in link]
        named += [host for _, hosts in self.lans for host in hosts]
        return tuple(dict.fromkeys(node for node in named if node not in self.routers))

    @property
    def adjacencies(self) -> tuple[tuple[str, str], ...]:
        """Everything that can be cut."""
        return self.links + tuple((router, host) for router, hosts in self.lans for host in hosts)


WORLDS: Final = (
    CastWorld(
        name="one LAN",
        routers=("r0",),
        links=(),
        lans=(("r0", ("h0", "h1", "h2", "h3")),),
        publisher="r0",
        receivers=("h0", "h1", "h2", "h3"),
    ),
    CastWorld(
        name="star",
        routers=("r0",),
        links=(("p", "r0"), ("h0", "r0"), ("h1", "r0"), ("h2", "r0")),
        receivers=("h0", "h1", "h2"),
    ),
    CastWorld(
        name="line",
        routers=("r0", "r1", "r2"),
        links=(("r0", "r1"), ("r1", "r2"), ("p", "r0"), ("h0", "r1"), ("h1", "r2"), ("h2", "r2")),
        receivers=("h0", "h1", "h2"),
    ),
    CastWorld(
        name="ring",
        routers=("r0", "r1", "r2", "r3"),
        links=(
            ("r0", "r1"), ("r1", "r2"), ("r2", "r3"), ("r3", "r0"),
            ("p", "r1"), ("h0", "r3"), ("h1", "r2"), ("h2", "r0"),
        ),
        receivers=("h0", "h1", "h2"),
    ),
    CastWorld(
        name="tree",
        routers=("r0", "r1", "r2", "r3", "r4"),
        links=(
            ("r0", "r1"), ("r0", "r2"), ("r1", "r3"), ("r1", "r4"), ("p", "r0"),
            ("h0", "r3"), ("h1", "r3"), ("h2", "r4"), ("h3", "r2"), ("h4", "r2"),
        ),
        receivers=("h0", "h1", "h2", "h3", "h4"),
    ),
    CastWorld(
        name="routers that receive",
        routers=("r0", "r1", "r2", "r3"),
        links=(
            ("r0", "r1"), ("r1", "r2"), ("r1", "r3"), ("p", "r0"),
            ("h0", "r2"), ("h1", "r3"), ("h2", "r3"),
        ),
        receivers=("r1", "h0", "r3", "h1", "h2"),
    ),
    CastWorld(
        name="two LANs",
        routers=("r0", "r1"),
        links=(("r0", "r1"), ("p", "r0")),
        lans=(("r0", ("h0", "h1")), ("r1", ("h2", "h3", "h4"))),
        receivers=("h0", "h1", "h2", "h3", "h4"),
    ),
)  # fmt: skip
FAULT_KINDS: Final = (
    "cut",
    "cut_noticed",
    "crash_router",
    "crash_controller",
    "crash_receiver",
    "crash_publisher",
    "burst",
    "copies",
    "lose_first",
    "lose_end",
    "lose_report",
    "lose_config",
    "lose_stop",
    "lose_membership",
    "leave",
    "rejoin",
    "mend_one",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Of a run whose object is written while it is sent."""

    flush_ns: Duration = 250 * MILLISECOND
    overflow: StreamOverflow = StreamOverflow.BLOCK
    # It is written so much faster than it may be sent.
    haste: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CastOptions:
    """One run."""

    seed: int
    world: CastWorld
    symbols: int
    block_symbols: int
    manifest_symbols: int
    train_symbols: int
    # The time that generation 0 takes.
    sending_ns: Duration
    loss: float
    # By receiver: how long after the offer it comes.
    joins_ns: tuple[Duration, ...]
    # Whether the publisher waits for those who come at once.
    knows_receivers: bool
    fault_time_ns: Duration
    faults: int
    fault_kinds: tuple[str, ...]
    # A fault is mended after this time at the latest.
    mend_ns: Duration
    filter_ones_max: int
    is_controlled: bool
    with_codec: bool
    repair: RepairChoice = RepairChoice.AUTO
    controllers: Controllers = Controllers.ONE
    # None: it is there from the beginning.
    stream: StreamOptions | None = None

    def __str__(self) -> str:
        return "\n".join(f"  {field.name}: {getattr(self, field.name)}" for field in fields(self))

    @property
    def settings(self) -> CastSettings:
        """Of all nodes."""
        drawn = CastSettings()
        rate_bps = max(1, self.symbols * SYMBOL_BYTES * SECOND // self.sending_ns)
        stream = self.stream or StreamOptions()
        return replace(
            drawn,
            stream=StreamSettings(
                block_symbols=self.block_symbols,
                flush_ns=stream.flush_ns,
                overflow=stream.overflow,
            ),
            publisher=replace(
                drawn.publisher,
                rate_bps=rate_bps,
                train_symbols=self.train_symbols,
                repair=self.repair,
            ),
            rate=replace(drawn.rate, is_controlled=self.is_controlled),
            controller=replace(drawn.controller, filter_ones_max=self.filter_ones_max),
            head=replace(drawn.head, forget_ns=15 * SECOND, linger_ns=SECOND),
            subscriber=replace(drawn.subscriber, silence_ns=10 * SECOND),
        )

    @property
    def symbols_per_s(self) -> int:
        """How fast they are sent, if nothing hinders them."""
        return self.symbols * SECOND // self.sending_ns

    @property
    def may_fail(self) -> bool:
        """Whether somebody may be cut off for as long as nobody is waited for."""
        return self.faults > 0 and self.mend_ns > SHORT_NS

    @property
    def is_steady(self) -> bool:
        """Whether the plan stays as it is, and no frame comes twice."""
        is_disturbed = self.faults or any(self.joins_ns) or self.controllers.is_contested
        return not is_disturbed


def draw_cast_options(seed: int) -> CastOptions:
    """The options of one seed."""
    rng = Seeds(seed).rng("swarm", "cast", "options")
    world = rng.choice(WORLDS)
    fault_time_ns = rng.choice((2, 4)) * SECOND
    loss = rng.choice((0.0, 0.02, 0.1))
    kinds = [kind for kind in FAULT_KINDS if rng.random() < 0.4] or ["cut"]
    return CastOptions(
        seed=seed,
        world=world,
        symbols=rng.choice((1, 40, 90, 150)),
        block_symbols=rng.choice((7, 30, 60)),
        manifest_symbols=rng.choice((0, 1, 3)),
        train_symbols=rng.choice((1, 4, 46)),
        sending_ns=rng.choice((100, 1_500, 4_000)) * MILLISECOND,
        loss=loss,
        joins_ns=_draw_joins(rng, len(world.receivers), fault_time_ns),
        knows_receivers=rng.random() < 0.5,
        fault_time_ns=fault_time_ns,
        faults=rng.choice((0, 3, 8, 15)),
        fault_kinds=tuple(kinds),
        mend_ns=rng.choice((SHORT_NS, 5 * SECOND)),
        filter_ones_max=rng.choice((ONES_MAX, 30, 22)),
        # With more loss there is next to no rate.
        is_controlled=rng.random() < 0.3 and loss < 0.1,
        with_codec=rng.random() < 0.2,
        repair=rng.choice([*RepairChoice]),
        controllers=_draw_controllers(rng, world),
    )


def draw_stream_options(seed: int) -> CastOptions:
    """As `draw_cast_options`, but what is cast is a stream."""
    rng = Seeds(seed).rng("swarm", "cast", "stream options")
    stream = StreamOptions(
        flush_ns=rng.choice((20, 250, 10_000)) * MILLISECOND,
        overflow=rng.choice([*StreamOverflow]),
        haste=rng.choice((1, 4)),
    )
    return replace(draw_cast_options(seed), manifest_symbols=0, stream=stream)


def _draw_controllers(rng: Random, world: CastWorld) -> Controllers:
    has_two = rng.random() < 0.5 and len(world.routers) > 1
    return rng.choice([*Controllers]) if has_two else Controllers.ONE


def _draw_joins(rng: Random, receivers: int, fault_time_ns: Duration) -> tuple[Duration, ...]:
    share = rng.choice((0.0, 0.3))
    return tuple(
        rng.randrange(fault_time_ns) if rng.random() < share else 0 for _ in range(receivers)
    )
