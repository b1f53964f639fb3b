"""What the metrics of one run report, by declared names.

A value belongs to a metric, an ordering ("" for the network), a phase ("" for the whole window)
and an entity. Its flat name is `metric[.entity][.phase]`, which is what experiments expect.
Reporting a name, kind or entity that no chosen metric declares is an error of the metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from penstock.metrics.base import Entity, Output
from penstock.metrics.sketches import Sketch
from penstock.trace.batch import Floats, Ints

# The unit of shares and indices, and how results and gold tables write it.
NO_UNIT: Final = "1"


class Key(NamedTuple):
    """Whose value it is."""

    metric: str
    ordering: str = ""
    entity: str = ""
    phase: str = ""
    entity_kind: Entity = Entity.RUN

    @property
    def flat(self) -> str:
        """`metric[.entity][.phase]`."""
        return ".".join(part for part in (self.metric, self.entity, self.phase) if part)


class PairValues(NamedTuple):
    """Values of entities with two names: of a pair, its subscriber and its publisher."""

    metric: str
    ordering: str
    names: Sequence[str]
    peers: Sequence[str]
    values: Floats


class Series(NamedTuple):
    """One value for each second from 0 on, or for some of them."""

    seconds: Ints
    values: Floats
    is_sparse: bool = False


class Results:
    """Everything that metrics reported of one run."""

    def __init__(self, run_id: str, outputs: Iterable[Output]) -> None:
        self.run_id: Final = run_id
        self._declared: Final = {(o.name, o.entity): o for o in outputs}
        self.values: Final[dict[Key, float]] = {}
        self.pairs: Final[list[PairValues]] = []
        self.series: Final[dict[Key, Series]] = {}
        # Bins that are not empty, in rising order, and their counts.
        self.histograms: Final[dict[Key, tuple[Ints, Ints]]] = {}
        # The 0th, 1st, … 100th percentile, or points of a function.
        self.curves: Final[dict[Key, list[float]]] = {}
        self.sketches: Final[dict[Key, Sketch]] = {}

    def add_value(
        self, name: str, value: float, *, ordering: str = "", entity: str = "", phase: str = ""
    ) -> None:
        """Reports one number; one that is not finite could not be computed and is left out."""
        key = self._key(name, "value", ordering, entity, phase)
        if isfinite(value):
            self.values[key] = float(value)

    def add_pairs(
        self,
        name: str,
        names: Sequence[str],
        peers: Sequence[str],
        values: ArrayLike,
        *,
        ordering: str = "",
    ) -> None:
        """Reports one number for each of many entities with two names."""
        assert any((name, kind) in self._declared for kind in Entity if kind.has_peer), (
            f"{name} is declared for no pair or flow"
        )
        if len(names):
            self.pairs.append(
                PairValues(name, ordering, names, peers, np.asarray(values, np.float64))
            )

    def add_series(
        self,
        name: str,
        values: ArrayLike,
        *,
        at: Ints | None = None,
        ordering: str = "",
        entity: str = "",
    ) -> None:
        """Reports one number for each second, from the first on or at those given."""
        key = self._key(name, "series", ordering, entity, "")
        series = np.asarray(values, np.float64)
        assert np.isfinite(series).all(), f"the series {name} has a value that is not finite"
        if at is None:
            self.series[key] = Series(np.arange(len(series)), series)
        else:
            self.series[key] = Series(at, series, is_sparse=True)

    def add_histogram(self, name: str, bins: Ints, counts: Ints, *, ordering: str = "") -> None:
        """Reports how many fell into each bin."""
        if bins.size:
            self.histograms[self._key(name, "histogram", ordering, "", "")] = (bins, counts)

    def add_curve(
        self, name: str, values: Sequence[float], *, ordering: str = "", entity: str = ""
    ) -> None:
        """Reports what lies at 0, 1, … 100 % of a distribution."""
        self.curves[self._key(name, "curve", ordering, entity, "")] = list(values)

    def add_sketch(self, name: str, sketch: Sketch, *, entity: str = "") -> None:
        """Reports what single values looked like, for plots of one run."""
        self.sketches[self._key(name, "sketch", "", entity, "")] = sketch

    def unit(self, name: str, kind: Entity = Entity.RUN) -> str:
        """The declared unit; empty for shares and indices."""
        unit = self._declared[name, kind].unit
        return "" if unit == NO_UNIT else unit

    def _key(self, name: str, kind: str, ordering: str, entity: str, phase: str) -> Key:
        output = self._output(name, bool(entity))
        assert kind in output.kinds, f"{name} is declared without a {kind}"
        assert not phase or output.phased, f"{name} is declared without phases"
        return Key(name, ordering, entity, phase, output.entity)

    def _output(self, name: str, has_entity: bool) -> Output:
        if not has_entity:
            found: Any = self._declared.get((name, Entity.RUN))
        else:
            kinds = (kind for kind in Entity if kind is not Entity.RUN and not kind.has_peer)
            found = next(filter(None, (self._declared.get((name, kind)) for kind in kinds)), None)
        whose = "an entity" if has_entity else "the run"
        assert found is not None, f"{name} is declared by no metric as a value of {whose}"
        output: Output = found
        return output
