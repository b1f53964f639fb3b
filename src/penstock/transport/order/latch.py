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
from penstock.transport.order.small_sample import small_sample_factor

# [§3.3] No latch is longer, whatever the scale.
LATCH_MAX_NS: Final[Duration] = 2 * SECOND
# Less than this cannot be told from never; and of it logarithms can still be taken.
PROBABILITY_MIN: Final = 1e-12
_TAIL_MIN: Final = 1e-300


class Scale(Protocol):
    """What a latch is computed from: an estimator."""

    @property
    def scale_ns(self) -> float:
        """b."""

    @property
    def weight(self) -> int:
        """How many samples it rests on."""


def conditional_latch_ns(
    violation_probability: float, sent_before_ns: Duration, scale: Scale
) -> Duration:
    """Q(P·P(X > δ)) − δ, for a scale inflated by what is not known of it."""
    b = inflated_scale_ns(violation_probability, sent_before_ns, scale)
    if b <= 0:
        return 0
    p = violation_probability * tail(sent_before_ns / b)
    if p < _TAIL_MIN:
        # Far out the tail is plainly exponential: what has waited long waits no less.
        return min(LATCH_MAX_NS, round(-b * log(violation_probability)))
    return min(LATCH_MAX_NS, max(0, round(tail_quantile(p) * b - sent_before_ns)))


def inflated_scale_ns(
    violation_probability: float, sent_before_ns: Duration, scale: Scale
) -> float:
    """[F6] The scale to compute with, longer by as much as few samples may have it too short."""
    b = scale.scale_ns
    return (
        b * small_sample_factor(scale.weight, violation_probability * tail(sent_before_ns / b))
        if b > 0
        else 0.0
    )


class Latch(Protocol):
    """How long after now a missing message need not be waited for any more."""

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """For one that left `gap_ns` ≥ 0 before the one that waits."""


@dataclass(frozen=True, slots=True)
class ConditionalLatch:
    """The default: `chance` of the missing messages that do come, come too late."""

    chance: float = 0.003

    def __post_init__(self) -> None:
        _check_probability(self.chance, 1.0)

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """See `conditional_wait_ns`."""
        return conditional_latch_ns(self.chance, sent_before_ns, scale)

    @property
    def without_evidence(self) -> LiteralLatch:
        """For a message that may not be missing at all."""
        return LiteralLatch(min(self.chance, 0.5))


@dataclass(frozen=True, slots=True)
class LiteralLatch:
    """Algorithm 3.1; with `as_printed` by its own formula, which takes the wrong branch."""

    chance: float = 0.05
    as_printed: bool = False

    def __post_init__(self) -> None:
        _check_probability(self.chance, 0.5)

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """F⁻¹(1 − P) − δ."""
        quantile = tail_quantile_as_printed if self.as_printed else tail_quantile
        return min(
            LATCH_MAX_NS, max(0, round(quantile(self.chance) * scale.scale_ns - sent_before_ns))
        )


@dataclass(frozen=True, slots=True)
class ConstantLatch:
    """The papers' CST-t."""

    latch_ns: Duration

    def __post_init__(self) -> None:
        if not 0 <= self.latch_ns <= LATCH_MAX_NS:
            raise UsageError(f"a latch lasts 0 to {LATCH_MAX_NS} ns, not {self.latch_ns}")

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:  # noqa: ARG002
        """Always the same."""
        return self.latch_ns


def _check_probability(probability: float, probability_max: float) -> None:
    if not PROBABILITY_MIN <= probability <= probability_max:
        raise UsageError(
            f"a violation probability lies within {PROBABILITY_MIN:g} and {probability_max:g},"
            f" not {probability}"
        )
