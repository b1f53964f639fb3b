"""A path as a value: its distribution of delays, its losses and its copies.

The variable part of a delay is the sum of `hops` exponential service times. Successive delays
may be correlated; their distribution stays the same. A share of the messages may take a detour,
which is longer by a fixed time.

Knows nothing of links or events; `PathSampler` draws the delays of one message after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.loss import IsLost, check_chance

Floats: TypeAlias = NDArray[np.float64]

HOPS_MAX: Final = 15
# Draws are made in batches: small ones first, for a path that carries few messages.
_BATCH_MIN: Final = 64
_BATCH_MAX: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class PathModel:
    """The path from a publisher to a receiver."""

    hops: int = 2
    # The mean time of one hop, and the constant part of every delay.
    hop_ns: Duration = 0
    fixed_ns: Duration = 0
    loss: float = 0.0
    # The share of arriving messages that arrive a second time, with an independent delay.
    duplicates: float = 0.0
    # Between successive delays, measured on their normal scores.
    correlation: float = 0.0
    # The share of messages that take the detour, and the extra time it takes.
    detours: float = 0.0
    detour_ns: Duration = 0

    def __post_init__(self) -> None:
        if not 1 <= self.hops <= HOPS_MAX:
            raise UsageError(f"a path has 1 to {HOPS_MAX} hops, not {self.hops}")
        for name in ("hop_ns", "fixed_ns", "detour_ns"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} is a time of 0 or more, not {getattr(self, name)}")
        for name in ("loss", "duplicates", "detours"):
            check_chance(name, getattr(self, name))
        if not 0 <= self.correlation < 1:
            raise UsageError(f"a correlation lies from 0 to below 1, not {self.correlation}")


@dataclass(frozen=True, slots=True)
class PeriodicLoss:
    """Loses every `every`-th packet: a loss that all receivers share and that tests can predict."""

    every: int

    def __post_init__(self) -> None:
        if self.every < 1:
            raise UsageError(f"one of every {self.every} packets is none: write 1 or more")

    def generator(self, rng: Random) -> IsLost:  # noqa: ARG002  the signature is the protocol's
        """Returns a function that draws nothing."""
        packet_numbers, every = count(1), self.every
        return lambda: next(packet_numbers) % every == 0


class PathSampler:
    """Draws the delays on one path, for messages in the order of sending."""

    __slots__ = ("_batch_size", "_drawn", "_generators", "_last_normal", "_path", "_seeds")

    def __init__(self, path: PathModel, seeds: Seeds) -> None:
        self._path: Final = path
        self._seeds: Final = seeds
        # One generator per kind, so that switching one on does not shift the draws of the others.
        self._generators: Final[dict[str, np.random.Generator]] = {}
        self._drawn: list[tuple[Duration, ...]] = []
        self._batch_size = _BATCH_MIN
        # The normal score of the last delay.
        self._last_normal: float | None = None

    def draw(self) -> tuple[Duration, ...]:
        """The delay of each copy of the next message; empty if it is lost."""
        if not self._drawn:
            self._drawn = self._batch(self._batch_size)
            self._drawn.reverse()
            self._batch_size = min(_BATCH_MAX, 2 * self._batch_size)
        return self._drawn.pop()

    def _batch(self, count: int) -> list[tuple[Duration, ...]]:
        path = self._path
        delays = self._delays("delay", count)
        delays_of_copies: list[tuple[Duration, ...]] = list(zip(delays.tolist(), strict=True))
        if path.duplicates:
            again = self._delays("duplicate", count).tolist()
            for i in self._draw_indices("duplicates", path.duplicates, count):
                delays_of_copies[i] = (*delays_of_copies[i], again[i])
        if path.loss:
            for i in self._draw_indices("loss", path.loss, count):
                delays_of_copies[i] = ()
        return delays_of_copies

    def _delays(self, which: str, count: int) -> NDArray[np.int64]:
        path = self._path
        delays_ns = np.full(count, path.fixed_ns, np.int64)
        if path.hop_ns:
            delays_ns += np.rint(self._hop_delays(which, count) * path.hop_ns).astype(np.int64)
        if path.detours:
            delays_ns[self._draw_indices(f"{which} detours", path.detours, count)] += path.detour_ns
        return delays_ns

    def _hop_delays(self, which: str, count: int) -> Floats:
        """The sum of the delays of all hops, in units of `hop_ns`."""
        path, generator = self._path, self._generator(which)
        if not path.correlation or which != "delay":
            return generator.standard_gamma(path.hops, count)
        # An AR(1) process of variance 1.
        rho = path.correlation
        fresh = np.sqrt(1 - rho**2) * generator.standard_normal(count)
        if self._last_normal is None:
            self._last_normal = float(generator.standard_normal())
        normal, _ = scipy.signal.lfilter([1.0], [1.0, -rho], fresh, zi=[rho * self._last_normal])
        self._last_normal = float(normal[-1])
        # By the upper tail, because probabilities near 1 would lose precision.
        hops: Floats = scipy.special.gammainccinv(path.hops, scipy.special.ndtr(-normal))
        return hops

    def _draw_indices(self, which: str, chance: float, count: int) -> list[int]:
        chosen: list[int] = np.flatnonzero(self._generator(which).random(count) < chance).tolist()
        return chosen

    def _generator(self, which: str) -> np.random.Generator:
        if which not in self._generators:
            self._generators[which] = self._seeds.generator(which)
        return self._generators[which]
