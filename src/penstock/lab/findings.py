"""What one run found: figures, series, quantiles and sketches, by the names that results have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import msgspec

from penstock.lab.metrics.base import Metric, Seen
from penstock.lab.metrics.sketches import Sketch


class Findings(msgspec.Struct, frozen=True):
    """Of the network, or of one ordering; figures are (value, unit)."""

    figures: dict[str, tuple[float, str]] = {}
    # By second of the experiment.
    series: dict[str, list[float]] = {}
    # What lies at 0, 1, … 100 % of some distribution.
    quantiles: dict[str, list[float]] = {}
    # Of this run alone.
    sketches: dict[str, Sketch] = {}


def gather(metrics: Sequence[Metric], name_of: Callable[[str | None], str]) -> dict[str, Findings]:
    """What all metrics saw, of the network (None to `name_of`) and of each ordering."""
    found = {name_of(None): Findings()}
    for metric in metrics:
        seen = Seen(metric.figures(), metric.series(), sketches=metric.sketches())
        _add(found[name_of(None)], seen)
    for metric in metrics:
        for ordering, seen in metric.of_orderings().items():
            _add(found.setdefault(name_of(ordering), Findings()), seen)
    return found


def _add(findings: Findings, seen: Seen) -> None:
    for name, figure in seen.figures.items():
        # What could not be computed was not measured.
        if isfinite(figure.value):
            findings.figures[name] = (figure.value, figure.unit)
    findings.series.update(seen.series)
    findings.quantiles.update(seen.quantiles)
    findings.sketches.update(seen.sketches)
