"""Do samples follow a law, or two sets of samples the same one?

Four tests, one kind of answer. Kolmogorov–Smirnov sees any difference,
Ansari–Bradley one of scale about a common centre, and the rank-sum test only
one of location: of delay differences, which are all centred on zero, it can say
nothing [F14] and is here because the paper used it.

All take the samples for independent. Differences of consecutive delays are not
(they share a delay with their neighbours, [F6]): pass `thin=2` to use every
second one. And all take a law for given: one whose parameters were fitted to
the very samples under test looks better than it is, so its p-value is too high.

Knows nothing of where samples come from. Sets larger than `SAMPLES_MAX` are
replaced by that many of their members, evenly spaced, in the order given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from penstock.kernel.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]
Law: TypeAlias = Callable[[Floats], Floats]

# scipy needs half a second for two sets of this size, and no test sees better with more.
SAMPLES_MAX: Final = 1_000_000
# Above this the limit law is as good as the exact one, whose cost grows as the square.
_EXACT_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a test found; `n` (and `m`, of the second set) samples were really used."""

    statistic: float
    p_value: float
    n: int
    m: int | None = None


def ks_law(samples: ArrayLike, law: Law, *, thin: int = 1) -> Verdict:
    """The greatest distance between the samples and the cumulative distribution `law`."""
    x = np.sort(_used(samples, thin))
    expected = np.asarray(law(x), dtype=np.float64)
    steps = np.arange(x.size + 1) / x.size
    distance = float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))
    return Verdict(
        statistic=distance, p_value=float(scipy.stats.kstwo.sf(distance, x.size)), n=x.size
    )


def ks_two(a: ArrayLike, b: ArrayLike, *, thin: int = 1) -> Verdict:
    """The greatest distance between the two sets' shares of samples up to any point."""
    x, y = _used(a, thin), _used(b, thin)
    method = "exact" if max(x.size, y.size) <= _EXACT_MAX else "asymp"
    return _verdict(scipy.stats.ks_2samp(x, y, method=method), x, y)


def ansari_bradley(a: ArrayLike, b: ArrayLike, *, thin: int = 1) -> Verdict:
    """Whether one set is more spread than the other; both must have the same centre."""
    x, y = _used(a, thin), _used(b, thin)
    values, place, counts = np.unique(np.append(x, y), return_inverse=True, return_counts=True)
    if len(values) == len(place):
        return _verdict(scipy.stats.ansari(x, y), x, y)
    # scipy scores tied samples by their mean rank. In the middle, where delay differences of
    # zero are tied, that is not the mean of their scores, and finds a spread that is not there.
    n = len(place)
    ends = np.cumsum(counts)
    total = np.append(0, np.cumsum(np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1))))
    scores = ((total[ends] - total[ends - counts]) / counts)[place]
    statistic = float(scores[: x.size].sum())
    spread = float(np.sqrt(x.size * y.size * scores.var() / (n - 1)))
    z = (statistic - x.size * float(scores.mean())) / spread if spread else 0.0
    return Verdict(
        statistic=statistic, p_value=float(2 * scipy.stats.norm.sf(abs(z))), n=x.size, m=y.size
    )


def rank_sum(a: ArrayLike, b: ArrayLike, *, thin: int = 1) -> Verdict:
    """Whether the members of one set tend to be larger (Wilcoxon, Mann and Whitney)."""
    x, y = _used(a, thin), _used(b, thin)
    return _verdict(scipy.stats.mannwhitneyu(x, y), x, y)


def _used(samples: ArrayLike, thin: int) -> Floats:
    if thin < 1:
        raise UsageError(f"thin must be 1 (all samples) or more, not {thin}")
    x = np.asarray(samples, dtype=np.float64)[::thin]
    if x.size < 2 or np.isnan(x).any():
        raise UsageError(f"a test needs two samples or more, none of them NaN; {x.size} are left")
    if x.size > SAMPLES_MAX:
        x = x[np.linspace(0, x.size - 1, SAMPLES_MAX).astype(np.int64)]
    return x


def _verdict(found: object, x: Floats, y: Floats) -> Verdict:
    statistic, p_value = found.statistic, found.pvalue  # type: ignore[attr-defined]
    return Verdict(statistic=float(statistic), p_value=float(p_value), n=x.size, m=y.size)
