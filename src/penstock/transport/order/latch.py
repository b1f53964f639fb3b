"""Latches: how long messages wait for a message that is known to be missing.

The waiting message was sent δ after the missing one, which is therefore already more
than δ late. A latch is the additional time to wait.

    conditional   [F11] a share P of the missing messages that do arrive, arrive too late
    literal       a share P of all pairs is delivered out of order, whether or not one of
                  them is known to be missing
    constant      the same for all, for comparison

Does not know the current time or the waiting messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final, Protocol

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration
from penstock.transport.order.delay_law import tail, tail_quantile, tail_quantile_as_printed
from penstock.transport.order.small_sample import small_sample_factor

# [§3.3] Upper bound of every latch, whatever the scale.
LATCH_MAX_NS: Final[Duration] = 2 * SECOND
# A smaller probability is practically 0; this one still has a usable logarithm.
PROBABILITY_MIN: Final = 1e-12
_TAIL_MIN: Final = 1e-300


class Scale(Protocol):
    """The estimate that a latch is computed from."""

    @property
    def scale_ns(self) -> float:
        """The scale b of the delay law."""

    @property
    def weight(self) -> int:
        """Number of samples behind the scale."""


def conditional_latch_ns(
    violation_probability: float, sent_before_ns: Duration, scale: Scale
) -> Duration:
    """Return Q(P·P(X > δ)) − δ, with the scale inflated for its estimation error."""
    b = inflated_scale_ns(violation_probability, sent_before_ns, scale)
    if b <= 0:
        return 0
    p = violation_probability * tail(sent_before_ns / b)
    if p < _TAIL_MIN:
        # Far out the tail is exponential, hence memoryless: the latch does not depend on δ.
        return min(LATCH_MAX_NS, round(-b * log(violation_probability)))
    return min(LATCH_MAX_NS, max(0, round(tail_quantile(p) * b - sent_before_ns)))


def inflated_scale_ns(
    violation_probability: float, sent_before_ns: Duration, scale: Scale
) -> float:
    """[F6] Return the scale, enlarged for the error of an estimate from few samples."""
    b = scale.scale_ns
    return (
        b * small_sample_factor(scale.weight, violation_probability * tail(sent_before_ns / b))
        if b > 0
        else 0.0
    )


class Latch(Protocol):
    """Computes how much longer to wait for a missing message."""

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """Return the latch for a message sent `sent_before_ns` ≥ 0 before the waiting one."""


@dataclass(frozen=True, slots=True)
class ConditionalLatch:
    """The default: a share `chance` of the missing messages that do arrive, arrive too late."""

    chance: float = 0.003

    def __post_init__(self) -> None:
        _check_probability(self.chance, 1.0)

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """Return `conditional_latch_ns` for `chance`."""
        return conditional_latch_ns(self.chance, sent_before_ns, scale)

    @property
    def without_evidence(self) -> LiteralLatch:
        """The latch for a message that may not be missing at all."""
        return LiteralLatch(min(self.chance, 0.5))


@dataclass(frozen=True, slots=True)
class LiteralLatch:
    """Algorithm 3.1; `as_printed` uses the paper's formula, which takes the wrong branch."""

    chance: float = 0.05
    as_printed: bool = False

    def __post_init__(self) -> None:
        _check_probability(self.chance, 0.5)

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:
        """Return F⁻¹(1 − P) − δ."""
        quantile = tail_quantile_as_printed if self.as_printed else tail_quantile
        return min(
            LATCH_MAX_NS, max(0, round(quantile(self.chance) * scale.scale_ns - sent_before_ns))
        )


@dataclass(frozen=True, slots=True)
class ConstantLatch:
    """The same latch for every message; CST-t of the papers."""

    latch_ns: Duration

    def __post_init__(self) -> None:
        if not 0 <= self.latch_ns <= LATCH_MAX_NS:
            raise UsageError(f"a latch lasts 0 to {LATCH_MAX_NS} ns, not {self.latch_ns}")

    def wait_ns(self, sent_before_ns: Duration, scale: Scale) -> Duration:  # noqa: ARG002
        """Return the constant."""
        return self.latch_ns


def _check_probability(probability: float, probability_max: float) -> None:
    if not PROBABILITY_MIN <= probability <= probability_max:
        raise UsageError(
            f"a violation probability lies within {PROBABILITY_MIN:g} and {probability_max:g},"
            f" not {probability}"
        )
