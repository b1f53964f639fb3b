"""The sum of n exponentials, each with its own rate: the law of end-to-end delays.

A message passes through n phases, one for each broker; what is random in its
delay is the time this takes. The textbook formula divides by differences of
rates and is useless when two of them are close, so everything here comes from
one place, `_Walk.occupancy`, that only ever adds and multiplies numbers that
are not negative. It works like this:

1. Let q be the largest rate and count time in units of 1/q. In each unit a
   Poisson number of beats fall; on a beat, phase i is left with probability
   rate_i / q. (This is called uniformisation.)
2. Split each time into a whole part and a fraction. During the fraction more
   than some 20 beats are out of the question: sum over their number.
3. The whole part is a sum of powers of two. For each power there is one matrix
   that takes the phases across it, the square of the one before; apply it to
   the times that have this power in them.

Knows nothing of brokers or links, and does not judge its own fit: that is for
`penstock.metrics.laws.ks`. Rates have no order: the law is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from penstock.kernel.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]

PHASES_MAX: Final = 32
# With at most one beat expected, this many more than there are phases are never reached.
_BEATS: Final = 20
# Multiplications in one product of matrices.
_PRODUCT_MAX: Final = 200_000
_UNITS_MAX: Final = float(2**62)
_TINY: Final = 1e-300
# Bounds of rate × scale of the samples: phases quicker than 1e-3 of it cannot be told apart.
_RATE_LOW, _RATE_HIGH = 1e-3, 1e3
_GAP_LOW, _GAP_HIGH = 1e-9, 1e3


def density(t: ArrayLike, rates: Sequence[float]) -> Floats:
    """f(t); zero for negative t."""
    times, speeds = _times(t), _rates(rates)
    occupancy = _Walk(times, float(speeds.max()), speeds.size).occupancy(speeds)
    return np.where(times >= 0, speeds[-1] * occupancy[-2], 0.0)


def cdf(t: ArrayLike, rates: Sequence[float]) -> Floats:
    """P(T ≤ t), as exact for small t as for large."""
    times, speeds = _times(t), _rates(rates)
    return np.asarray(_Walk(times, float(speeds.max()), speeds.size).occupancy(speeds)[-1])


def tail(t: ArrayLike, rates: Sequence[float]) -> Floats:
    """P(T > t), as exact far out as near zero."""
    times, speeds = _times(t), _rates(rates)
    return np.asarray(
        _Walk(times, float(speeds.max()), speeds.size).occupancy(speeds)[:-1].sum(axis=0)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HypoexponentialFit:
    """A constant and a hypoexponential on top of it; `rates` ascend, `n` samples were seen."""

    constant: float
    rates: tuple[float, ...]
    log_likelihood: float
    n: int

    def density(self, x: ArrayLike) -> Floats:
        """Of whole delays, constant and all."""
        return density(_times(x) - self.constant, self.rates)

    def cdf(self, x: ArrayLike) -> Floats:
        """Of whole delays, constant and all."""
        return cdf(_times(x) - self.constant, self.rates)


def fit(samples: ArrayLike, phases: int, *, constant: float | None = None) -> HypoexponentialFit:
    """The rates (and the constant, unless given) that make the samples most likely.

    Climbs the likelihood in the logarithms of the rates, from rates in geometric
    progression that have the mean and variance of the samples. The slope needs
    the mean time spent in each phase given the total, which is what a step of the
    EM algorithm of Asmussen et al. computes too: both stop at the same places.

    Single rates are known far less well than the law: a quick phase looks much
    like a constant, and two phases much like two others of the same mean and variance.
    """
    x = _times(samples)
    if not 1 <= phases <= PHASES_MAX:
        raise UsageError(f"phases must be 1 to {PHASES_MAX}, not {phases}")
    if x.size <= phases + 1 or not np.isfinite(x).all() or x.min() == x.max():
        raise UsageError(f"need more than {phases + 1} samples, finite and not all the same")
    if constant is None:
        return _fit_all(x, phases)
    below = int((x < constant).sum())
    if below:
        raise UsageError(
            f"{below} of {x.size} samples are less than the constant {constant}: "
            "give a smaller one, or None to have it estimated"
        )
    return _fit_rates(x, phases, constant)


class _Walk:
    """Times to be walked through at most so many phases, with rates up to q."""

    def __init__(self, t: Floats, q: float, phases: int) -> None:
        self._q = q
        self._shape = t.shape
        self._units = np.clip(t.ravel() * q, 0.0, _UNITS_MAX)
        columns = max(1, _PRODUCT_MAX // ((phases + 1) * (_BEATS + phases)))
        starts = range(0, self._units.size, columns)
        self._blocks = [_Block(self._units[i : i + columns], phases) for i in starts]

    def occupancy(self, rates: Floats) -> Floats:
        """The probability of being in each phase, by phase and time; the last row is the end."""
        n = len(rates)
        leave = np.append(rates / self._q, 0.0)
        beat = np.diag(1 - leave) + np.diag(leave[:-1], 1)
        after = np.zeros((_BEATS + n, n + 1, n + 1))  # the phases after k beats
        after[0] = np.eye(n + 1)
        for k in range(1, len(after)):
            after[k] = after[k - 1] @ beat
        poisson = np.exp(-1.0) / np.cumprod(np.append(1.0, np.arange(1.0, len(after))))
        across = [np.tensordot(poisson, after, axes=1)]
        for power in range(max((len(block.powers) for block in self._blocks), default=0)):
            # Squares of squares gather errors: of the diagonal we know better.
            np.fill_diagonal(across[power], np.exp(-np.ldexp(leave, power)))
            across.append(across[power] @ across[power])
        walked = [block.walk(after[:, 0], across) for block in self._blocks]
        return np.concatenate([np.empty((n + 1, 0)), *walked], axis=1).reshape(n + 1, *self._shape)


class _Block:
    """Some of the times: few enough that no product of matrices is worth a second thread.

    Handing such small ones out to threads costs ten times what it saves when the
    other cores are busy.
    """

    def __init__(self, units: Floats, phases: int) -> None:
        whole = np.floor(units)
        part = units - whole
        self._beats = np.empty((_BEATS + phases, units.size))
        self._beats[0] = np.exp(-part)
        for k in range(1, len(self._beats)):
            np.multiply(self._beats[k - 1], part / k, out=self._beats[k])
        self.powers: list[NDArray[np.intp]] = []
        steps = whole.astype(np.int64)
        while steps.any():
            self.powers.append(np.flatnonzero(steps & 1))
            steps >>= 1

    def walk(self, after: Floats, across: list[Floats]) -> Floats:
        """From the first phase: the fraction by number of beats, then power by power."""
        at = after.T @ self._beats[: len(after)]
        for matrix, which in zip(across, self.powers, strict=False):
            at[:, which] = matrix.T @ at[:, which]
        return np.asarray(at)


def _fit_rates(x: Floats, phases: int, constant: float) -> HypoexponentialFit:
    scale = float((x - constant).mean())
    t = (x - constant) / scale

    def loss(z: Floats) -> tuple[float, Floats]:
        level, slope, _ = _likelihood(t, np.exp(z))
        return -level, -slope

    bounds = [(np.log(_RATE_LOW), np.log(_RATE_HIGH))] * phases
    best = _descend(loss, np.log(_start(t, phases)), bounds)
    return _fitted(x, np.exp(best), constant, scale)


def _fit_all(x: Floats, phases: int) -> HypoexponentialFit:
    least, scale = float(x.min()), float(x.std())
    if phases == 1:  # likelihood grows until the constant meets the least sample
        return _fit_rates(x, 1, least)
    above = (x - least) / scale

    def loss(z: Floats) -> tuple[float, Floats]:
        gap = np.exp(z[-1])
        level, slope, drift = _likelihood(above + gap, np.exp(z[:-1]))
        return -level, -np.append(slope, drift * gap)

    # Where the least of so many samples would stand if all rates were equal.
    gap = scipy.special.gammaincinv(phases, 1 / (x.size + 1)) / np.sqrt(phases)
    start = np.append(np.log(_start(above + gap, phases)), np.log(gap))
    bounds = [(np.log(_RATE_LOW), np.log(_RATE_HIGH))] * phases
    best = _descend(loss, start, [*bounds, (np.log(_GAP_LOW), np.log(_GAP_HIGH))])
    return _fitted(x, np.exp(best[:-1]), least - scale * float(np.exp(best[-1])), scale)


def _likelihood(t: Floats, rates: Floats) -> tuple[float, Floats, float]:
    """Mean log-likelihood, its slope by the logarithm of each rate, and by a shift of `t`."""
    walk = _Walk(t, float(rates.max()), rates.size + 1)
    at = walk.occupancy(rates)
    f = np.maximum(rates[-1] * at[-2], _TINY)
    slope = np.empty(len(rates))
    for i, rate in enumerate(rates):
        # E[time in phase i | t] = g(t) / (rate·f(t)), where g has phase i twice.
        twice = np.append(rates, rate)
        slope[i] = 1 - np.mean(rate * walk.occupancy(twice)[-2] / f)
    enters = rates[-2] * at[-3] if len(rates) > 1 else 0.0
    drift = np.mean(rates[-1] * (enters - rates[-1] * at[-2]) / f)
    return float(np.log(f).mean()), slope, float(drift)


def _start(t: Floats, phases: int) -> Floats:
    """Rates in geometric progression with the mean and, if possible, the variance of `t`."""
    mean = float(t.mean())
    wanted = float(t.var()) / mean**2
    powers = np.arange(phases)

    def excess(g: float) -> float:
        means = g**powers
        return float((means**2).sum() / means.sum() ** 2) - wanted

    # Equal rates are a saddle: never start there.
    low, high = 0.05, 0.8
    if excess(low) <= 0:
        g = low
    elif excess(high) >= 0:
        g = high
    else:
        g = float(scipy.optimize.brentq(excess, low, high))
    means = g**powers
    return np.asarray(means.sum() / (mean * means))


def _descend(loss: object, start: Floats, bounds: list[tuple[float, float]]) -> Floats:
    lows, highs = np.transpose(bounds)
    found = scipy.optimize.minimize(
        loss,
        np.clip(start, lows, highs),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 300, "ftol": 1e-8, "gtol": 1e-6},
    )
    return np.asarray(found.x, dtype=np.float64)


def _fitted(x: Floats, rates: Floats, constant: float, scale: float) -> HypoexponentialFit:
    speeds = np.sort(rates / scale)
    likely = np.log(np.maximum(density(x - constant, speeds.tolist()), _TINY)).sum()
    return HypoexponentialFit(
        constant=constant, rates=tuple(speeds.tolist()), log_likelihood=float(likely), n=x.size
    )


def _times(t: ArrayLike) -> Floats:
    return np.asarray(t, dtype=np.float64)


def _rates(rates: Sequence[float]) -> Floats:
    speeds = np.asarray(rates, dtype=np.float64)
    if not 1 <= speeds.size <= PHASES_MAX or not np.all((speeds > 0) & np.isfinite(speeds)):
        raise UsageError(f"need 1 to {PHASES_MAX} rates, all positive and finite")
    return speeds
