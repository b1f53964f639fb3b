"""The traffic of each session at given link prices: the inner step of proportional fairness.

At given prices a session picks the rates that maximise Σ log rate minus the price of its load.
A branch carries the highest rate below it, so receivers that share a branch and would all take
more *pool*: they have one rate, and share the price of the branch. A pool of n receivers whose
branches cost P in total takes n/P, or less where the bound of one of them limits it.

1. A single receiver is a pool with no cost whose rate is its bound.
2. From the leaves up, a branch absorbs the pool below it with the highest rate, adds its own
   price, and absorbs further pools as long as one below has a higher rate than the new pool.
3. Pools with lower rates do not fill the branch, and are left for branches above.

Each pool is absorbed once; a pairing heap finds the one with the highest rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.compiled import WORK_MIN, Loop, Real, Whole
from penstock.fairness.contention import Block


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools at given prices, numbered by the receiver or branch that made them."""

    # The pool of each active receiver, and of each branch.
    of_receiver: Ints
    of_branch: Ints
    # Of each pool: the number of its receivers, the cost of its branches, and its rate.
    members: Floats
    cost: Floats
    rate: Floats


class Pooling:
    """Pools the receivers of one block."""

    def __init__(self, loop: Loop, block: Block) -> None:
        self._block: Final = block
        self._pool: Final = loop.over(block.bound, block.leaf, block.above)

    def at(self, price: Floats, active: Ints) -> Pools:
        """Pools at a price for each link, with receivers as indices in the block."""
        block = self._block
        count = len(active) + len(block.above)
        price = np.add.reduceat(price[block.link], block.first[:-1])
        owner = np.full(count, -1)
        members, cost, rate = np.zeros(count), np.zeros(count), np.zeros(count)
        self._pool.run((active, price), (owner, members, cost, rate))
        return Pools(owner[: len(active)], owner[len(active) :], members, cost, rate)


def pooling_loop(work_min: float = WORK_MIN) -> Loop:
    """The loop that `Pooling` runs."""
    return Loop(_meld, _rest, _take_in, _pool, work_min=work_min)


def _pool(
    active: Whole,
    price: Real,
    bound: Real,
    leaf: Whole,
    above: Whole,
    owner: Whole,
    members: Real,
    cost: Real,
    rate: Real,
) -> None:
    """Items are receivers, by index among the active, then branches."""
    count, branches = len(active), len(above)
    child, sibling, heap = [-1] * (count + branches), [-1] * (count + branches), [-1] * branches
    for index in range(count):
        members[index], rate[index] = 1.0, bound[active[index]]
        feeder = leaf[active[index]]
        heap[feeder] = _meld(heap[feeder], index, rate, child, sibling)
    for branch in range(branches - 1, -1, -1):
        if heap[branch] < 0:
            continue
        item, feeder = count + branch, above[branch]
        cost[item] = price[branch]
        left = _take_in(item, heap[branch], owner, (members, cost, rate), child, sibling)
        if feeder >= 0:
            left = _meld(left, item, rate, child, sibling)
            heap[feeder] = _meld(heap[feeder], left, rate, child, sibling)
    # A branch that absorbed this one lies above it, so its own pool is known already.
    for branch in range(branches):
        item = count + branch
        owner[item] = owner[owner[item]] if owner[item] >= 0 else item
    for index in range(count):
        owner[index] = owner[owner[index]] if owner[index] >= 0 else index


def _take_in(
    item: int,
    left: int,
    owner: Whole,
    made: tuple[Real, Real, Real],
    child: Whole,
    sibling: Whole,
) -> int:
    """Lets a branch absorb pools of a heap; returns the rest of the heap."""
    members, cost, rate = made
    while left >= 0 and (members[item] == 0 or rate[left] > rate[item]):
        owner[left] = item
        members[item] += members[left]
        cost[item] += cost[left]
        rate[item] = rate[left]
        if cost[item] * rate[left] > members[item]:
            rate[item] = members[item] / cost[item]
        left = _rest(left, rate, child, sibling)
    return left


def _meld(one: int, other: int, rate: Real, child: Whole, sibling: Whole) -> int:
    """Merges two heaps, either of which may be empty."""
    if one < 0:
        return other
    if other < 0:
        return one
    if rate[other] > rate[one]:
        one, other = other, one
    sibling[other] = child[one]
    child[one] = other
    return one


def _rest(top: int, rate: Real, child: Whole, sibling: Whole) -> int:
    """A heap without its top: merges the children in pairs, then all together."""
    pairs = -1
    at = child[top]
    while at >= 0:
        other = sibling[at]
        after = -1
        if other >= 0:
            after = sibling[other]
            at = _meld(at, other, rate, child, sibling)
        sibling[at] = pairs
        pairs = at
        at = after
    whole = -1
    while pairs >= 0:
        after = sibling[pairs]
        sibling[pairs] = -1
        whole = _meld(whole, pairs, rate, child, sibling)
        pairs = after
    return whole
