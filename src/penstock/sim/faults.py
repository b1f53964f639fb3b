"""Faults as values: what breaks, where, from when until when.

A fault is applied to a world before it starts and ends by itself. Where two faults overlap, the
component works again when both have ended. Drawn faults come from the seed and have a text
form, so that a failing run can be described. Knows links, hosts and clocks, and no protocol.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Duration, Instant, to_seconds
from penstock.kernel.seeds import Seeds
from penstock.sim.link import Link
from penstock.sim.world import World


class Fault(Protocol):
    """A fault that can be applied to a world; `str` describes it in one line."""

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedFault(ABC):
    """A fault that lasts from `start` until `stop`, in global time."""

    start: Instant
    stop: Instant

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise UsageError(
                f"a fault from {self.start} to {self.stop} ns lasts no time: stop must come later"
            )

    def _schedule(
        self, world: World[Any], begin: Callable[[], object], end: Callable[[], object]
    ) -> None:
        world.events.schedule(self.start, begin)
        world.events.schedule(self.stop, end)

    def __str__(self) -> str:
        span = f"{to_seconds(self.start):.6f}-{to_seconds(self.stop):.6f} s"
        return f"{span} {self._description()}"

    @abstractmethod
    def _description(self) -> str:
        """Text of the fault without its time span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinkFault(_TimedFault):
    """A fault of both links between two hosts."""

    one: str
    other: str

    def _links(self, world: World[Any]) -> tuple[Link[Any], Link[Any]]:
        return world.link(self.one, self.other), world.link(self.other, self.one)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown(_LinkFault):
    """Both links drop all packets."""

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""
        for link in self._links(world):
            self._schedule(world, link.cut, link.mend)

    def _description(self) -> str:
        return f"link {self.one}-{self.other} down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplication(_LinkFault):
    """A share of the packets arrives twice."""

    chance: float

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""
        for link in self._links(world):
            impairments, chance = link.impairments, self.chance
            world.events.schedule(self.start, impairments.start_duplicating, chance)
            world.events.schedule(self.stop, impairments.stop_duplicating, chance)

    def _description(self) -> str:
        return f"link {self.one}-{self.other} duplicates {self.chance:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption(_LinkFault):
    """A share of the packets is garbled: one bit flipped with a codec, dropped without one."""

    chance: float

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""
        for link in self._links(world):
            impairments, chance = link.impairments, self.chance
            world.events.schedule(self.start, impairments.start_corrupting, chance)
            world.events.schedule(self.stop, impairments.stop_corrupting, chance)

    def _description(self) -> str:
        return f"link {self.one}-{self.other} corrupts {self.chance:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(_TimedFault):
    """All links between `island` and the other hosts are down."""

    island: tuple[str, ...]

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""
        for name in self.island:
            world.host(name)
        for (sender, receiver), link in world.links.items():
            if (sender in self.island) != (receiver in self.island):
                self._schedule(world, link.cut, link.mend)

    def _description(self) -> str:
        return f"partition {{{', '.join(self.island)}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash(_TimedFault):
    """The host loses its machine and restarts with a new one."""

    host: str

    def apply(self, world: World[Any]) -> None:
        """Schedules the fault and its end."""
        host = world.host(self.host)
        self._schedule(world, host.crash, host.restart)

    def _description(self) -> str:
        return f"host {self.host} crashed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """The host's clock jumps forwards or backwards, for good."""

    at: Instant
    host: str
    by_ns: Duration

    def apply(self, world: World[Any]) -> None:
        """Schedules the step."""
        world.events.schedule(self.at, world.host(self.host).step_clock, self.by_ns)

    def __str__(self) -> str:
        step = f"{self.by_ns / MILLISECOND:+g} ms"
        return f"{to_seconds(self.at):.6f} s clock of {self.host} {step}"


# The order is fixed, because a draw picks by position.
FAULT_KINDS = ("link_down", "partition", "crash", "duplication", "corruption", "clock_step")


def draw_faults(
    world: World[Any],
    seeds: Seeds,
    *,
    count: int,
    start: Instant,
    stop: Instant,
    kinds: Sequence[str] = FAULT_KINDS,
) -> list[Fault]:
    """Draws `count` faults that start and end between `start` and `stop`, sorted by start."""
    unknown = [kind for kind in kinds if kind not in FAULT_KINDS]
    if unknown or not kinds:
        raise UsageError(f"no such fault {unknown}: choose from {', '.join(FAULT_KINDS)}")
    if not 0 <= start < stop - 1:
        raise UsageError(f"no fault fits between {start} and {stop} ns: leave more time")
    hosts = list(world.hosts)
    # Each pair once: a link fault affects both directions.
    pairs = [pair for pair in world.links if hosts.index(pair[0]) < hosts.index(pair[1])]
    if not pairs:
        raise UsageError("a world without links has nothing to break: connect its hosts first")
    rng = seeds.rng("faults")
    instants = sorted(rng.randrange(start, stop - 1) for _ in range(count))
    return [_draw_one(rng, rng.choice(kinds), at, stop, hosts, pairs) for at in instants]


def _draw_one(
    rng: Random,
    kind: str,
    at: Instant,
    stop: Instant,
    hosts: list[str],
    pairs: list[tuple[str, str]],
) -> Fault:
    """Draws one fault; most are short, because a network that is always broken hides bugs."""
    end = at + 1 + min(int(rng.expovariate(4 / (stop - at))), stop - at - 1)
    one, other = rng.choice(pairs)
    host = rng.choice(hosts)
    chance = round(rng.uniform(0.01, 0.5), 3)
    match kind:
        case "link_down":
            return LinkDown(start=at, stop=end, one=one, other=other)
        case "partition":
            island = tuple(sorted(rng.sample(hosts, rng.randint(1, max(1, len(hosts) // 2)))))
            return Partition(start=at, stop=end, island=island)
        case "crash":
            return Crash(start=at, stop=end, host=host)
        case "duplication":
            return Duplication(start=at, stop=end, one=one, other=other, chance=chance)
        case "corruption":
            return Corruption(start=at, stop=end, one=one, other=other, chance=chance)
        case _:
            by_ns = rng.choice((-1, 1)) * rng.randint(1, 2000) * MILLISECOND
            return ClockStep(at=at, host=host, by_ns=by_ns)
