"""Proportional fairness on a block: the rates that maximise Σ log rate.

The rates follow from a price of each link. At given prices `pooling` computes the traffic of
sessions; at the right prices a link is either full or free of charge, which is where the dual,
a convex function of the prices, is smallest:

    Σ log rate + Σ price · (capacity − load)

Its slope is capacity − load, and it has a second derivative except where pools change. So
prices are found by Newton steps, projected to 0 where they would become negative (see D.
Bertsekas, Projected Newton methods, 1982), with a damping that grows when a step does not
improve the dual. Prices are in units of the cost of a whole link, so that units do not matter.
The prices of one allocation are the start of the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.compiled import WORK_MIN, Loop
from penstock.fairness.contention import Block
from penstock.fairness.pooling import Pooling, Pools, pooling_loop

# How far a link may be from full, or its price from 0, relative to the whole; then the number of
# further steps, each of which doubles the digits.
_CONVERGED: Final = 1e-9
_LAST_STEPS: Final = 2
_STEPS_MAX: Final = 500
_DAMPING: Final = 1e-3
# Larger matrices are sparse.
_DENSE_MAX: Final = 160_000


@dataclass(frozen=True, slots=True)
class _Point:
    """The dual and its derivatives at given prices."""

    price: Floats
    # The dual, and its slope along each price.
    value: float
    slope: Floats
    rates: Floats
    # The pool of each branch; per pool the root of -d rate / d cost, 0 at a bound.
    pool: Ints
    curvature_root: Floats

    @property
    def is_idle(self) -> NDArray[np.bool_]:
        """For each link whether no active receiver uses it."""
        return np.equal(self.slope, 1.0)

    @property
    def distance(self) -> float:
        """Distance from the optimum, where each link is full or costs nothing."""
        return float(np.abs(np.minimum(self.price, self.slope)).max())


class Proportional:
    """Proportional fairness, on any number of blocks."""

    def __init__(self, work_min: float = WORK_MIN) -> None:
        self._loop: Final = pooling_loop(work_min)

    def on(self, block: Block) -> ProportionalRates:
        """The rates of one block."""
        return ProportionalRates(self._loop, block)


class ProportionalRates:
    """The rates of one block, for any set of active receivers."""

    def __init__(self, loop: Loop, block: Block) -> None:
        self._block: Final = block
        self._pooling: Final = Pooling(loop, block)
        # The branch of each entry of the block's links.
        self._branch: Final = np.repeat(np.arange(len(block.above)), np.diff(block.first))
        self._price = np.ones(len(block.capacity))

    def rates(self, active: Ints) -> Floats:
        """The rates of the receivers `active`, ascending indices in the block."""
        point = self._converge(self._start(active), active)
        for _ in range(_LAST_STEPS):
            after = self._evaluate(self._step(point, damping=0.0), active)
            if after.distance >= point.distance:
                break
            point = after
        self._price = np.where(point.is_idle, 1.0, point.price)
        return point.rates

    def _start(self, active: Ints) -> _Point:
        """Starts from the previous prices; links without active receivers cost nothing."""
        point = self._evaluate(self._price, active)
        if not point.is_idle.any():
            return point
        return self._evaluate(np.where(point.is_idle, 0.0, point.price), active)

    def _converge(self, point: _Point, active: Ints) -> _Point:
        damping = _DAMPING
        for _ in range(_STEPS_MAX):
            if point.distance <= _CONVERGED:
                return point
            after = self._evaluate(self._step(point, damping), active)
            if _improves(point, after):
                point = after
                damping = max(damping / 10, 1e-9)
            else:
                damping *= 10
        raise AssertionError(f"prices did not settle: {point.distance} off at {len(active)}")

    def _step(self, point: _Point, damping: float) -> Floats:
        """Newton's step for links not at rest; the others follow their slope, and stop at 0."""
        at_rest = (point.price <= min(0.01, point.distance)) & (point.slope > 0)
        move = -point.slope
        if not at_rest.all():
            matrix = self._curvature_matrix(point, ~at_rest)
            damping *= point.distance
            move[~at_rest] = -_solve(matrix @ matrix.T, damping, point.slope[~at_rest])
        return np.maximum(0.0, point.price + move)

    def _curvature_matrix(self, point: _Point, chosen: NDArray[np.bool_]) -> Any:
        """A matrix whose square is the second derivative: rows are chosen links, columns pools."""
        block, pool = self._block, point.pool[self._branch]
        entry = np.flatnonzero(chosen[block.link] & (point.curvature_root[pool] > 0))
        link, pool = block.link[entry], pool[entry]
        weight = point.curvature_root[pool] / block.capacity[link]
        row = (np.cumsum(chosen) - 1)[link]
        pools, column = np.unique(pool, return_inverse=True)
        shape = int(chosen.sum()), len(pools)
        if shape[0] * shape[1] <= _DENSE_MAX:
            matrix = np.zeros(shape)
            # No pool uses a link twice.
            matrix[row, column] = weight
            return matrix
        from scipy.sparse import csr_array

        return csr_array((weight, (row, column)), shape=shape)

    def _evaluate(self, price: Floats, active: Ints) -> _Point:
        block = self._block
        pools = self._pooling.at(price / block.capacity, active)
        carried = pools.rate[pools.of_branch[self._branch]]
        slope = 1 - np.bincount(block.link, carried, len(block.capacity)) / block.capacity
        rates = pools.rate[pools.of_receiver]
        value = np.log(rates / block.bound[active]).sum() + price @ slope
        return _Point(price, float(value), slope, rates, pools.of_branch, _curvature_roots(pools))


def _improves(before: _Point, after: _Point) -> bool:
    """Whether the dual falls by a sufficient part of what its slope predicts."""
    predicted = min(0.0, float(before.slope @ (after.price - before.price)))
    if after.value <= before.value + 1e-4 * predicted:
        return True
    # Near the optimum the value changes by less than its rounding error.
    noise = 1e-12 * (abs(before.value) + len(before.rates))
    return after.distance < before.distance / 2 and after.value <= before.value + noise


def _curvature_roots(pools: Pools) -> Floats:
    """Root of -d rate / d cost of each pool; 0 where a bound limits the pool."""
    members, cost = pools.members, pools.cost
    is_free = (cost > 0) & (cost * pools.rate >= members * (1 - 1e-12))
    return np.divide(np.sqrt(members), cost, out=np.zeros_like(cost), where=is_free)


def _solve(square: Any, damping: float, slope: Floats) -> Floats:
    """Solves with some damping: a link whose load no price changes has an empty row."""
    size = len(slope)
    least = max(damping, 1e-14 * max(1.0, float(square.diagonal().max())))
    if size * size <= _DENSE_MAX:
        dense = square if isinstance(square, np.ndarray) else square.toarray()
        return np.linalg.solve(dense + least * np.eye(size), slope)
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    return np.asarray(spsolve((square + least * eye_array(size)).tocsc(), slope))
