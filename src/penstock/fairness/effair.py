"""The effair allocation: the ideal rate of each receiver over time.

On a component's own timescale every change takes effect everywhere at once, so between two
changes the instantaneous ideal holds [001, figure 3]:

1. Admit the receivers that join now.
2. Allocate among the active receivers.
3. Advance to the next time a receiver joins, or has all its data.
4. Remove the receivers that have all their data; repeat while any is left.

Each block of receivers is computed separately, since its changes affect no other. Receivers
that no contended link limits, and those without demand, need no steps.
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

# Relative tolerance: a rate counts as unchanged, an amount as complete.
TOLERANCE: Final = 1e-9
# Above this count, rate changes are not kept: they would fill the memory.
CHANGES_MAX: Final = 5_000_000

# Called with the number of further receivers that have all their data.
Progress: TypeAlias = Callable[[int], None]


class Rates(Protocol):
    """The ideal rates on one block at any time."""

    def rates(self, active: Ints) -> Floats:
        """The rates of the receivers `active`, ascending indices in the block."""


class Allocation(Protocol):
    """An instantaneous ideal."""

    def on(self, block: Block) -> Rates:
        """Its rates on one block."""


ALLOCATIONS: Final[dict[str, Callable[[], Allocation]]] = {
    "maxmin": MaxMin,
    "proportional": Proportional,
}


def allocation_named(name: str) -> Allocation:
    """The allocation with the name that users write."""
    if name not in ALLOCATIONS:
        raise UsageError(f"there is no allocation {name!r}: choose from {', '.join(ALLOCATIONS)}")
    return ALLOCATIONS[name]()


@dataclass(slots=True)
class Changes:
    """All changes of receivers' rates, unless there are too many."""

    _parts: list[tuple[Ints, Floats, Floats]] = field(default_factory=list)
    count: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all changes were kept."""
        return self.count <= CHANGES_MAX

    def add(self, receivers: Ints, time: Floats, rate: Floats) -> None:
        """Adds rate changes; times count from when the anchor joins."""
        self.count += len(receivers)
        if self.is_complete:
            self._parts.append((receivers, time, rate))
        else:
            self._parts.clear()

    def by_receiver(self, receivers: int) -> tuple[Ints, Floats, Floats]:
        """Offsets of each receiver's changes (one more than receivers), times and rates."""
        columns = [np.concatenate([part[i] for part in self._parts]) for i in range(3)]
        order = np.argsort(columns[0], kind="stable")
        starts = np.searchsorted(columns[0][order], np.arange(receivers + 1))
        return starts.astype(np.int64), columns[1][order], columns[2][order]


@dataclass(frozen=True, slots=True)
class Ideal:
    """How long each receiver takes to get all its data, and all changes of rates."""

    spent: Floats
    changes: Changes


def effair(
    contention: Contention,
    waited: Floats,
    data: Floats,
    allocation: Allocation,
    progress: Progress,
) -> Ideal:
    """Computes the ideal; `waited` is how long after its anchor each receiver joins."""
    changes = Changes()
    spent = np.zeros(len(data))
    free = np.flatnonzero((contention.leaf < 0) & (data > 0) & (contention.bound < np.inf))
    spent[free] = data[free] / contention.bound[free]
    changes.add(free, waited[free], contention.bound[free])
    progress(int((contention.leaf < 0).sum()))
    for block in contention.blocks():
        joins, amounts = waited[block.receivers], data[block.receivers]
        run = _BlockRun(block, joins, amounts, allocation.on(block), changes)
        spent[block.receivers] = run.spent(progress)
    return Ideal(spent, changes)


class _BlockRun:
    """One block, from the first receiver that joins to the last that leaves."""

    def __init__(
        self, block: Block, joins: Floats, data: Floats, ideal: Rates, changes: Changes
    ) -> None:
        self._block: Final = block
        self._joins: Final = joins
        self._data: Final = data
        self._ideal: Final = ideal
        self._changes: Final = changes
        self._is_active: Final = np.zeros(len(joins), dtype=bool)
        self._remaining: Final = data.copy()
        self._rate: Final = np.zeros(len(joins))

    def spent(self, progress: Progress) -> Floats:
        """How long each receiver is active."""
        spent = np.zeros(len(self._joins))
        order = np.argsort(self._joins, kind="stable")
        times, starts = np.unique(self._joins[order], return_index=True)
        groups = np.split(order, starts[1:])
        # The next to join are last.
        arrivals = list(zip(times.tolist(), groups, strict=True))[::-1]
        now = 0.0
        active = np.array([], dtype=np.int64)
        while arrivals or len(active):
            if arrivals and (arrivals[-1][0] <= now or not len(active)):
                now, joining = arrivals.pop()
                self._is_active[joining] = True
                active = np.flatnonzero(self._is_active)
            rates = self._allocate(active, now)
            now = self._advance(active, rates, now, arrivals[-1][0] if arrivals else np.inf)
            done = active[self._remaining[active] <= TOLERANCE * self._data[active]]
            if len(done):
                spent[done] = now - self._joins[done]
                self._is_active[done] = False
                active = np.flatnonzero(self._is_active)
                progress(len(done))
        return spent

    def _allocate(self, active: Ints, now: float) -> Floats:
        """The rates until the next change; rates within the tolerance stay as they were."""
        rates, before = self._ideal.rates(active), self._rate[active]
        is_new = np.abs(rates - before) > TOLERANCE * before
        rates = np.where(is_new, rates, before)
        changed = active[is_new]
        self._rate[changed] = rates[is_new]
        receivers = self._block.receivers[changed]
        self._changes.add(receivers, np.full(len(changed), now), rates[is_new])
        return rates

    def _advance(self, active: Ints, rates: Floats, now: float, limit: float) -> float:
        """Advances to when the first receiver has all its data, but not beyond `limit`."""
        remaining = self._remaining[active]
        step = float((remaining / rates).min())
        then = now + step
        if then >= limit:
            step, then = limit - now, limit
        self._remaining[active] = remaining - rates * step
        return then
