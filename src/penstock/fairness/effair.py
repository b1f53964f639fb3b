"""The effair allocation: who gets what, and until when, in the ideal.

On a component's own timescale every change is felt everywhere at once, so between
one change and the next the instantaneous ideal holds [001, figure 3]:

1. Let in who joins now.
2. Allocate among those who are there.
3. Go on to the next time anyone joins, or has got all its data.
4. Let those leave who have it; begin again while anybody is left.

That is done for each block of receivers alone, since no other feels its changes.
Receivers that nobody holds back, and those that want nothing, need no steps at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.contention import Block, Contention
from penstock.fairness.maxmin import MaxMin
from penstock.fairness.proportional import Proportional
from penstock.kernel.errors import UsageError

# What is nearer is the same: a rate that did not change, an amount that is complete.
TOLERANCE: Final = 1e-9
# More changes of rate than this are not kept: they would fill the memory.
CHANGES_MAX: Final = 5_000_000

# Told how many more receivers have got all their data.
Progress: TypeAlias = Callable[[int], None]


class Rates(Protocol):
    """What is ideal on one block at any moment."""

    def rates(self, active: Ints) -> Floats:
        """Of the receivers `active`, by place in the block, ascending."""


class Allocation(Protocol):
    """An instantaneous ideal."""

    def on(self, block: Block) -> Rates:
        """Its rates on one block."""


ALLOCATIONS: Final[dict[str, Callable[[], Allocation]]] = {
    "maxmin": MaxMin,
    "proportional": Proportional,
}


def allocation_named(name: str) -> Allocation:
    """By the name that users write."""
    if name not in ALLOCATIONS:
        raise UsageError(f"there is no allocation {name!r}: choose from {', '.join(ALLOCATIONS)}")
    return ALLOCATIONS[name]()


@dataclass(slots=True)
class Changes:
    """Every change of a receiver's rate, as long as there are not too many."""

    _parts: list[tuple[Ints, Floats, Floats]] = field(default_factory=list)
    count: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether none was too many."""
        return self.count <= CHANGES_MAX

    def add(self, receivers: Ints, time: Floats, rate: Floats) -> None:
        """These have this rate from then on, times counted from the anchor's joining."""
        self.count += len(receivers)
        if self.is_complete:
            self._parts.append((receivers, time, rate))
        else:
            self._parts.clear()

    def by_receiver(self, receivers: int) -> tuple[Ints, Floats, Floats]:
        """Where in the other two each receiver's begin, one more than there are; times; rates."""
        columns = [np.concatenate([part[i] for part in self._parts]) for i in range(3)]
        order = np.argsort(columns[0], kind="stable")
        starts = np.searchsorted(columns[0][order], np.arange(receivers + 1))
        return starts.astype(np.int64), columns[1][order], columns[2][order]


@dataclass(frozen=True, slots=True)
class Ideal:
    """How long each receiver takes to get all its data, and what changed on the way."""

    spent: Floats
    changes: Changes


def effair(
    contention: Contention,
    waited: Floats,
    data: Floats,
    allocation: Allocation,
    progress: Progress,
) -> Ideal:
    """`waited` is how long after its anchor each receiver joins."""
    changes = Changes()
    spent = np.zeros(len(data))
    free = np.flatnonzero((contention.leaf < 0) & (data > 0) & (contention.bound < np.inf))
    spent[free] = data[free] / contention.bound[free]
    changes.add(free, waited[free], contention.bound[free])
    progress(int((contention.leaf < 0).sum()))
    for block in contention.blocks():
        joins, amounts = waited[block.receivers], data[block.receivers]
        run = _Run(block, joins, amounts, allocation.on(block), changes)
        spent[block.receivers] = run.spent(progress)
    return Ideal(spent, changes)


class _Run:
    """One block, from the first that joins to the last that leaves."""

    def __init__(
        self, block: Block, joins: Floats, data: Floats, ideal: Rates, changes: Changes
    ) -> None:
        self._block: Final = block
        self._joins: Final = joins
        self._data: Final = data
        self._ideal: Final = ideal
        self._changes: Final = changes
        self._is_here: Final = np.zeros(len(joins), dtype=bool)
        self._left: Final = data.copy()
        self._rate: Final = np.zeros(len(joins))

    def spent(self, progress: Progress) -> Floats:
        """How long each receiver is there."""
        spent = np.zeros(len(self._joins))
        order = np.argsort(self._joins, kind="stable")
        times, starts = np.unique(self._joins[order], return_index=True)
        groups = np.split(order, starts[1:])
        # The next to join stand last.
        arrivals = list(zip(times.tolist(), groups, strict=True))[::-1]
        now = 0.0
        active = np.array([], dtype=np.int64)
        while arrivals or len(active):
            if arrivals and (arrivals[-1][0] <= now or not len(active)):
                now, who = arrivals.pop()
                self._is_here[who] = True
                active = np.flatnonzero(self._is_here)
            rates = self._allocate(active, now)
            now = self._advance(active, rates, now, arrivals[-1][0] if arrivals else np.inf)
            done = active[self._left[active] <= TOLERANCE * self._data[active]]
            if len(done):
                spent[done] = now - self._joins[done]
                self._is_here[done] = False
                active = np.flatnonzero(self._is_here)
                progress(len(done))
        return spent

    def _allocate(self, active: Ints, now: float) -> Floats:
        """The rates until the next change; those that hardly differ stay what they were."""
        rates, before = self._ideal.rates(active), self._rate[active]
        is_new = np.abs(rates - before) > TOLERANCE * before
        rates = np.where(is_new, rates, before)
        changed = active[is_new]
        self._rate[changed] = rates[is_new]
        receivers = self._block.receivers[changed]
        self._changes.add(receivers, np.full(len(changed), now), rates[is_new])
        return rates

    def _advance(self, active: Ints, rates: Floats, now: float, limit: float) -> float:
        """To when the first has all its data, or to `limit`, if that is sooner."""
        left = self._left[active]
        step = float((left / rates).min())
        then = now + step
        if then >= limit:
            step, then = limit - now, limit
        self._left[active] = left - rates * step
        return then
