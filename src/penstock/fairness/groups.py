"""Groups of indices: connected by chains of pairs, or with equal numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.fairness.arrays import Ints


class Grouped(NamedTuple):
    """Members of groups 0, 1, …; those of group g are `member[first[g] : first[g + 1]]`."""

    first: Ints
    member: Ints

    def of(self, group: int) -> Ints:
        """The members of one group."""
        return self.member[self.first[group] : self.first[group + 1]]


def grouped(number: Ints, groups: int) -> Grouped:
    """Groups the indices of `number` by their values, in order; negative values are left out."""
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(groups + 1))
    return Grouped(first.astype(np.int64), order.astype(np.int64))


def joined(count: int, one: Ints, other: Ints) -> Ints:
    """The connected component of each of `count` items, numbered by first members."""
    leader = list(range(count))

    def find(thing: int) -> int:
        while leader[thing] != thing:
            leader[thing] = leader[leader[thing]]
            thing = leader[thing]
        return thing

    # Most pairs occur many times.
    for pair in np.unique(one * count + other).tolist():
        left, right = find(pair // count), find(pair % count)
        leader[max(left, right)] = min(left, right)
    leaders = np.array([find(thing) for thing in range(count)], dtype=np.int64)
    return np.unique(leaders, return_inverse=True)[1].astype(np.int64)
