"""How long to wait for a message that is known to be missing.

The waiting message left δ after the missing one, which is late already by more
than δ: otherwise it would be here. A policy says how much longer is enough.

    conditional   [F11] so that a missing message that does come, comes in time but for P
    literal       so that of all pairs P are out of order, known to be or not
    constant      the same for all, for comparison

Knows nothing of when that is, or of what waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final, Protocol

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration
from penstock.transport.order.delay_law import tail, tail_quantile, tail_quantile_as_printed
from penstock.transport.order.small_sample import inflation

# [§3.3] No latch is longer, whatever the scale.
LATCH_MAX: Final[Duration] = 2 * SECOND
# Less than this cannot be told from never; and of it logarithms can still be taken.
CHANCE_MIN: Final = 1e-12
_TINY: Final = 1e-300


class Scale(Protocol):
    """What a latch is computed from: an estimator."""

    @property
    def scale_ns(self) -> float:
        """b."""

    @property
    def weight(self) -> int:
        """How many samples it rests on."""


def conditional_wait_ns(chance: float, gap_ns: Duration, scale: Scale) -> Duration:
    """Q(P·P(X > δ)) − δ, for a scale inflated by what is not known of it."""
    b = inflated_ns(chance, gap_ns, scale)
    if b <= 0:
        return 0
    p = chance * tail(gap_ns / b)
    if p < _TINY:
        # Far out the tail is plainly exponential: what has waited long waits no less.
        return min(LATCH_MAX, round(-b * log(chance)))
    return min(LATCH_MAX, max(0, round(tail_quantile(p) * b - gap_ns)))


def inflated_ns(chance: float, gap_ns: Duration, scale: Scale) -> float:
    """[F6] The scale to compute with, longer by as much as few samples may have it too short."""
    b = scale.scale_ns
    return b * inflation(scale.weight, chance * tail(gap_ns / b)) if b > 0 else 0.0


class Latch(Protocol):
    """How long after now a missing message need not be waited for any more."""

    def wait_ns(self, gap_ns: Duration, scale: Scale) -> Duration:
        """For one that left `gap_ns` ≥ 0 before the one that waits."""


@dataclass(frozen=True, slots=True)
class Conditional:
    """The default: `chance` of the missing messages that do come, come too late."""

    chance: float = 0.003

    def __post_init__(self) -> None:
        _check(self.chance, 1.0)

    def wait_ns(self, gap_ns: Duration, scale: Scale) -> Duration:
        """See `conditional_wait_ns`."""
        return conditional_wait_ns(self.chance, gap_ns, scale)

    @property
    def unconditional(self) -> Literal:
        """For a message that may not be missing at all."""
        return Literal(min(self.chance, 0.5))


@dataclass(frozen=True, slots=True)
class Literal:
    """Algorithm 3.1; with `as_printed` by its own formula, which takes the wrong branch."""

    chance: float = 0.05
    as_printed: bool = False

    def __post_init__(self) -> None:
        _check(self.chance, 0.5)

    def wait_ns(self, gap_ns: Duration, scale: Scale) -> Duration:
        """F⁻¹(1 − P) − δ."""
        quantile = tail_quantile_as_printed if self.as_printed else tail_quantile
        return min(LATCH_MAX, max(0, round(quantile(self.chance) * scale.scale_ns - gap_ns)))


@dataclass(frozen=True, slots=True)
class Constant:
    """The papers' CST-t."""

    latch_ns: Duration

    def __post_init__(self) -> None:
        if not 0 <= self.latch_ns <= LATCH_MAX:
            raise UsageError(f"a latch lasts 0 to {LATCH_MAX} ns, not {self.latch_ns}")

    def wait_ns(self, gap_ns: Duration, scale: Scale) -> Duration:  # noqa: ARG002
        """Always the same."""
        return self.latch_ns


def _check(chance: float, most: float) -> None:
    if not CHANCE_MIN <= chance <= most:
        raise UsageError(
            f"a violation probability lies within {CHANCE_MIN:g} and {most:g}, not {chance}"
        )
