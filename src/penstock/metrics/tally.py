"""Tallies: what a metric has counted in one part of a run, such that parts add up.

Arrays are added, or their minima or maxima taken, place by place; the shorter one is filled up.
Bins of histograms are added. Rows of entities (pairs, flows) are only collected, since an
entity is in one part alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.metrics.codes import NETWORK
from penstock.trace.batch import Ints

Op: TypeAlias = Literal["sum", "min", "max"]
Array: TypeAlias = NDArray[Any]
# Name, ordering, entity.
Key: TypeAlias = tuple[str, str, str]

_COMBINE: Final[dict[Op, Any]] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True, slots=True)
class Entities:
    """One row of numbers for each entity; `peers` are empty names where there is none."""

    names: list[str]
    peers: list[str]
    values: Array


@dataclass(slots=True)
class Tally:
    """Everything that one metric has counted."""

    _arrays: dict[Key, tuple[Op, Array]] = field(default_factory=dict)
    _bins: dict[Key, tuple[Ints, Ints]] = field(default_factory=dict)
    _entities: dict[tuple[str, str], list[Entities]] = field(default_factory=dict)

    def add(
        self, name: str, values: ArrayLike, *, ordering: str = "", entity: str = "", op: Op = "sum"
    ) -> None:
        """Adds a number, or an array place by place."""
        array = np.atleast_1d(np.asarray(values))
        if array.dtype.kind in "biu":
            # Parts are added: a small type would overflow, and flags would not count.
            array = array.astype(np.int64)
        key = (name, ordering, entity)
        if key in self._arrays:
            known_op, known = self._arrays[key]
            assert known_op == op, f"{name} was tallied by {known_op}"
            array = _combined(op, known, array)
        self._arrays[key] = (op, array)

    def add_bins(
        self, name: str, bins: Ints, counts: Ints, *, ordering: str = "", entity: str = ""
    ) -> None:
        """Adds counts of bins, which are numbered from any number on."""
        key = (name, ordering, entity)
        if key in self._bins:
            known_bins, known_counts = self._bins[key]
            both = np.concatenate([known_bins, bins])
            bins, where = np.unique(both, return_inverse=True)
            total = np.zeros(bins.size, np.int64)
            np.add.at(total, where, np.concatenate([known_counts, counts]))
            counts = total
        self._bins[key] = (bins, counts)

    def add_entities(
        self,
        name: str,
        names: list[str],
        values: ArrayLike,
        *,
        peers: list[str] | None = None,
        ordering: str = "",
    ) -> None:
        """Adds a row of numbers for each entity, none of which any other part has."""
        rows = Entities(names, [""] * len(names) if peers is None else peers, np.asarray(values))
        self._entities.setdefault((name, ordering), []).append(rows)

    def merge(self, other: Tally) -> None:
        """Adds the tally of another part of the run."""
        for (name, ordering, entity), (op, array) in other._arrays.items():
            self.add(name, array, ordering=ordering, entity=entity, op=op)
        for (name, ordering, entity), (bins, counts) in other._bins.items():
            self.add_bins(name, bins, counts, ordering=ordering, entity=entity)
        for key, parts in other._entities.items():
            self._entities.setdefault(key, []).extend(parts)

    def has(self, name: str, *, ordering: str = "", entity: str = "") -> bool:
        """Whether a number or an array was tallied."""
        return (name, ordering, entity) in self._arrays

    def get(self, name: str, *, ordering: str = "", entity: str = "") -> Array:
        """An array; empty if none was tallied."""
        found = self._arrays.get((name, ordering, entity))
        return np.zeros(0, np.int64) if found is None else found[1]

    def number(self, name: str, *, ordering: str = "", entity: str = "") -> Any:
        """The only place of an array as a Python number; 0 if none was tallied."""
        found = self.get(name, ordering=ordering, entity=entity)
        # Python's own integers, beyond 64 bits, have no `item`.
        return found.tolist()[0] if found.size else 0

    def bins(self, name: str, *, ordering: str = "", entity: str = "") -> tuple[Ints, Ints]:
        """Bins in rising order with their counts; none if none were tallied."""
        nothing = np.zeros(0, np.int64)
        return self._bins.get((name, ordering, entity), (nothing, nothing))

    def entities(self, name: str, *, ordering: str = "") -> Entities:
        """The rows of all entities."""
        parts = self._entities.get((name, ordering), [])
        if not parts:
            return Entities([], [], np.zeros(0))
        return Entities(
            [each for part in parts for each in part.names],
            [each for part in parts for each in part.peers],
            np.concatenate([part.values for part in parts]),
        )

    def orderings(self, name: str) -> list[str]:
        """The orderings of a name: the network first, then the others by name."""
        found = {o for n, o, _ in self._arrays if n == name}
        found |= {o for n, o in self._entities if n == name}
        return sorted(found, key=lambda ordering: (ordering != NETWORK, ordering))

    def names_of_entities(self, name: str, *, ordering: str = "") -> list[str]:
        """The entities of which a name has an array, sorted."""
        return sorted(e for n, o, e in self._arrays if n == name and o == ordering and e)


def _combined(op: Op, one: Array, other: Array) -> Array:
    if len(one) < len(other):
        one, other = other, one
    found = np.array(one, np.result_type(one, other))
    place = slice(len(other))
    found[place] = _COMBINE[op](found[place], other)
    return found
