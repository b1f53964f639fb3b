"""The distribution of a duration: mean and maximum exact, quantiles from bins of 0.1 ms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import Entity, Output, Window
from penstock.metrics.histogram import Histogram, quantile_ms
from penstock.metrics.results import Results
from penstock.metrics.tally import Tally
from penstock.trace.batch import Ints


class Distribution:
    """Adds durations up, batch by batch."""

    __slots__ = ("_histogram", "_sums")

    def __init__(self) -> None:
        self._histogram: Final = Histogram()
        # Count, how many are above 0, total, maximum.
        self._sums: list[int] = [0, 0, 0, np.iinfo(np.int64).min]

    def add(self, values_ns: Ints) -> None:
        """Adds the next values, if there are any."""
        if not values_ns.size:
            return
        self._histogram.add(values_ns)
        sums = self._sums
        sums[0] += values_ns.size
        sums[1] += int(np.count_nonzero(values_ns > 0))
        sums[2] += int(values_ns.sum())
        sums[3] = max(sums[3], int(values_ns.max()))

    def tally(self, name: str, out: Tally, *, ordering: str = "", phase: str = "") -> None:
        """Puts down what `report_distribution` needs."""
        count, above, total_ns, longest_ns = self._sums
        if not count:
            return
        out.add_bins(name, *self._histogram.table(), ordering=ordering, entity=phase)
        out.add(f"{name}.sums", [count, above, total_ns], ordering=ordering, entity=phase)
        out.add(f"{name}.max", longest_ns, ordering=ordering, entity=phase, op="max")


def report_distribution(
    name: str, shares: Mapping[str, float], tally: Tally, out: Results, *, ordering: str = ""
) -> None:
    """Reports the histogram, and values that begin with its name; nothing of no value."""
    bins, counts = tally.bins(name, ordering=ordering)
    if not bins.size:
        return
    out.add_histogram(name, bins, counts, ordering=ordering)
    count, _, total_ns = tally.get(f"{name}.sums", ordering=ordering).tolist()
    longest_ms = tally.number(f"{name}.max", ordering=ordering) / MILLISECOND
    out.add_value(f"{name}_mean", total_ns / count / MILLISECOND, ordering=ordering)
    out.add_value(f"{name}_max", longest_ms, ordering=ordering)
    for label, share in shares.items():
        # The middle of the last bin may lie beyond the maximum.
        value = min(quantile_ms(bins, counts, share), longest_ms)
        out.add_value(f"{name}_{label}", value, ordering=ordering)


def share_above_zero(name: str, tally: Tally, *, ordering: str = "") -> float | None:
    """The share of values above 0; None if there was no value."""
    sums = tally.get(f"{name}.sums", ordering=ordering)
    return float(sums[1] / sums[0]) if sums.size else None


def distribution_outputs(
    name: str,
    shares: Mapping[str, float],
    meaning: str,
    *,
    window: Window = Window.RUN,
    phased: frozenset[str] = frozenset(),
) -> Iterator[Output]:
    """Declares what `report_distribution` reports; `phased` labels have a value per phase."""
    yield Output(name=name, unit="ms", kinds=("histogram",), window=window, meaning=meaning)
    for label in ("mean", "max", *shares):
        yield Output(
            name=f"{name}_{label}",
            unit="ms",
            entity=Entity.RUN,
            window=window,
            phased=label in phased,
            meaning=f"{meaning}: {_LABELS.get(label) or f'{label[1:]}th percentile'}",
        )


_LABELS: Final = {"mean": "mean", "max": "maximum", "p999": "99.9th percentile"}
