"""Max-min fairness on a block: no rate can grow without reducing a smaller one.

All rates rise together. A receiver that reaches its bound stops; when a link is full, all
receivers below it stop. A session's load on a link is the highest rate below it [E3], so while
any receiver below a branch still rises, the branch carries the common level, and once all have
stopped it carries the level at which the last one stopped. A link is full at the level

    (capacity − load of finished branches) / branches that still rise

which only grows as branches finish: the heap of links is corrected only when a link reaches its
top. Every receiver and every branch is visited a fixed number of times.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.compiled import WORK_MIN, Loop, Real, Whole
from penstock.fairness.contention import Block
from penstock.fairness.groups import grouped

# The offset of each group's members, and the members.
Groups: TypeAlias = tuple[Whole, Whole]
# The branch above each branch, the offset of its links, and the links.
Branches: TypeAlias = tuple[Whole, Whole, Whole]
# Rising children of each branch; rising branches of each link, and the load of its others.
State: TypeAlias = tuple[Whole, Whole, Real]


class MaxMin:
    """Max-min fairness, on any number of blocks."""

    def __init__(self, work_min: float = WORK_MIN) -> None:
        functions = _begin, _stop, _next_full, _risers, _fill
        self._loop: Final = Loop(*functions, work_min=work_min)

    def on(self, block: Block) -> MaxMinRates:
        """The rates of one block."""
        return MaxMinRates(self._loop, block)


class MaxMinRates:
    """The rates of one block, for any set of active receivers."""

    def __init__(self, loop: Loop, block: Block) -> None:
        branches, links = len(block.above), len(block.capacity)
        users = grouped(block.link, links)
        branch_of = np.repeat(np.arange(branches), np.diff(block.first))
        self._count: Final = len(block.bound)
        self._fill: Final = loop.over(
            *(block.bound, block.leaf, block.capacity),
            *(block.above, block.first, block.link),
            *(users.first, branch_of[users.member]),
            *grouped(block.leaf, branches),
            *grouped(block.above, branches),
        )

    def rates(self, active: Ints) -> Floats:
        """The rates of the receivers `active`, ascending indices in the block."""
        rate = np.zeros(self._count)
        self._fill.run((active,), (rate,))
        return rate[active]


def _fill(
    active: Whole,
    bound: Real,
    leaf: Whole,
    capacity: Real,
    above: Whole,
    first: Whole,
    link: Whole,
    users_first: Whole,
    users: Whole,
    fed_first: Whole,
    fed: Whole,
    parts_first: Whole,
    parts: Whole,
    rate: Real,
) -> None:
    """Writes the rate of each of `active` into `rate`.

    `users` are the branches on each link; each branch has receivers `fed` by it, and child
    branches, its `parts`.
    """
    stopped = [True] * len(leaf)
    for receiver in active:
        stopped[receiver] = False
    branches = (above, first, link)
    state = ([0] * len(above), [0] * len(capacity), [0.0] * len(capacity))
    rising, using, carried = state
    _begin(stopped, branches, (fed_first, fed), rising, using)
    heap = [(capacity[e] / using[e], e) for e in range(len(capacity)) if using[e] > 0]
    heapify(heap)
    level = 0.0
    for receiver in active:
        limit = bound[receiver]
        while not stopped[receiver]:
            _next_full(heap, capacity, using, carried)
            if len(heap) == 0 or limit <= heap[0][0]:
                stopped[receiver], rate[receiver] = True, limit
                _stop(leaf[receiver], limit, branches, state)
                break
            # Rounding may make a link appear full slightly too early.
            level = max(level, heap[0][0])
            full = heap[0][1]
            on_it = users[users_first[full] : users_first[full + 1]]
            for riser in _risers(on_it, (fed_first, fed), (parts_first, parts), rising):
                if not stopped[riser]:
                    stopped[riser], rate[riser] = True, level
                    _stop(leaf[riser], level, branches, state)


def _begin(stopped: Whole, branches: Branches, fed: Groups, rising: Whole, using: Whole) -> None:
    """Counts rising children, from the last branch up: a branch follows the one that feeds it."""
    above, first, link = branches
    fed_first, members = fed
    for branch in range(len(above) - 1, -1, -1):
        for at in range(fed_first[branch], fed_first[branch + 1]):
            if not stopped[members[at]]:
                rising[branch] += 1
        if rising[branch] > 0:
            for at in range(first[branch], first[branch + 1]):
                using[link[at]] += 1
            if above[branch] >= 0:
                rising[above[branch]] += 1


def _stop(branch: int, level: float, branches: Branches, state: State) -> None:
    """Handles one child of the branch that stopped at this level."""
    above, first, link = branches
    rising, using, carried = state
    while branch >= 0:
        rising[branch] -= 1
        if rising[branch] > 0:
            break
        for at in range(first[branch], first[branch + 1]):
            using[link[at]] -= 1
            carried[link[at]] += level
        branch = above[branch]


def _next_full(heap: list[tuple[float, int]], capacity: Real, using: Whole, carried: Real) -> None:
    """Moves the link that fills up first to the top of the heap."""
    while len(heap) > 0:
        level, link = heap[0]
        if using[link] == 0:
            heappop(heap)
            continue
        now = (capacity[link] - carried[link]) / using[link]
        if now <= level:
            break
        heapreplace(heap, (now, link))


def _risers(on_it: Whole, fed: Groups, parts: Groups, rising: Whole) -> list[int]:
    """The receivers below these branches, except where all stopped before."""
    fed_first, members = fed
    parts_first, branches = parts
    found: list[int] = []
    waiting = [branch for branch in on_it if rising[branch] > 0]
    while len(waiting) > 0:
        branch = waiting.pop()
        for at in range(fed_first[branch], fed_first[branch + 1]):
            found.append(members[at])
        for at in range(parts_first[branch], parts_first[branch + 1]):
            if rising[branches[at]] > 0:
                waiting.append(branches[at])
    return found
