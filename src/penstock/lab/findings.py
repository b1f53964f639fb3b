"""The measurements of one run by result name: figures, series, quantiles and sketches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from penstock.metrics.codes import NETWORK
from penstock.metrics.results import Key, Results
from penstock.metrics.sketches import Sketch


class Findings(msgspec.Struct, frozen=True):
    """Measurements of the network or of one ordering; a figure is (value, unit)."""

    figures: dict[str, tuple[float, str]] = {}
    # One value per second of the experiment.
    series: dict[str, list[float]] = {}
    # The 0th, 1st, … 100th percentile of a distribution.
    quantiles: dict[str, list[float]] = {}
    # Of one run only: sketches cannot be averaged over seeds.
    sketches: dict[str, Sketch] = {}


def findings_of(
    results: Results, orderings: Sequence[str], name_of: Callable[[str | None], str]
) -> dict[str, Findings]:
    """Sorts results by result name; `name_of(None)` is the network's.

    An ordering may share the network's name, and then has precedence.
    """
    found = {name_of(None): _findings(results, NETWORK)}
    for ordering in orderings:
        own, known = _findings(results, ordering), found.get(name_of(ordering))
        found[name_of(ordering)] = own if known is None else _merged(known, own)
    return found


def _findings(results: Results, ordering: str) -> Findings:
    def own(keys: Sequence[Key]) -> list[Key]:
        return [key for key in keys if key.ordering == ordering]

    return Findings(
        figures={
            key.flat: (results.values[key], results.unit(key.metric, key.entity_kind))
            for key in own([*results.values])
        },
        # Seconds without a sample have no value, which a result cannot say.
        series={
            key.flat: results.series[key].values.tolist()
            for key in own([*results.series])
            if not results.series[key].is_sparse
        },
        quantiles={key.flat: results.curves[key] for key in own([*results.curves])},
        sketches={key.flat: results.sketches[key] for key in own([*results.sketches])},
    )


def _merged(below: Findings, above: Findings) -> Findings:
    """Both; `above` has precedence."""
    return Findings(
        figures=below.figures | above.figures,
        series=below.series | above.series,
        quantiles=below.quantiles | above.quantiles,
        sketches=below.sketches | above.sketches,
    )
