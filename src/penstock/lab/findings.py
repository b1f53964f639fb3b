"""The measurements of one run: figures, series, quantiles and sketches, by result name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import msgspec

from penstock.lab.metrics.base import Metric, Seen
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


def gather(metrics: Sequence[Metric], name_of: Callable[[str | None], str]) -> dict[str, Findings]:
    """Collects the values of all metrics by result name; `name_of(None)` is the network's."""
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
        # A metric that could not be computed counts as not measured.
        if isfinite(figure.value):
            findings.figures[name] = (figure.value, figure.unit)
    findings.series.update(seen.series)
    findings.quantiles.update(seen.quantiles)
    findings.sketches.update(seen.sketches)
