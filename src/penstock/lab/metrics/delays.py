"""End-to-end delays: their spread, and the clusters that the number of hops makes of them."""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.laws.clusters import clusters
from penstock.lab.metrics.base import Context, Figure, Floats, Ints, Metric, spread
from penstock.lab.metrics.delay_bins import DelayBins
from penstock.trace.batch import Batch

_SAMPLES_MAX: Final = 500_000


class Delays(Metric):
    """Of all arrivals, and of each phase's."""

    TABLES: ClassVar[tuple[str, ...]] = ("arrivals",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._arrived: list[Ints] = []
        self._delays: list[Ints] = []

    def take(self, batch: Batch) -> None:
        """Keeps both times."""
        arrived = batch.columns["arrived_ns"].values
        self._arrived.append(arrived)
        self._delays.append(arrived - batch.columns["published_ns"].values)

    def figures(self) -> dict[str, Figure]:
        """Quantiles of all, clusters of each phase."""
        delays_ns = spread(self._delays)
        if not delays_ns.size:
            return {}
        delays_ms, bins = delays_ns / MILLISECOND, DelayBins(delays_ns)
        found = {
            "delay_mean": Figure(float(delays_ms.mean()), "ms"),
            "delay_p50": Figure(bins.quantile_ms(0.5), "ms"),
            "delay_p99": Figure(bins.quantile_ms(0.99), "ms"),
            "delay_max": Figure(float(delays_ms.max()), "ms"),
            "delay_clusters": self._clusters(delays_ms),
        }
        since_s = (spread(self._arrived) - self.context.origin) / SECOND
        for name, (low, high) in self.context.phases().items():
            inside = (since_s >= low) & (since_s < high)
            if inside.any():
                median_ms = DelayBins(delays_ns[inside]).quantile_ms(0.5)
                found[f"delay_p50.{name}"] = Figure(median_ms, "ms")
                found[f"delay_max.{name}"] = Figure(float(delays_ms[inside].max()), "ms")
                found[f"delay_clusters.{name}"] = self._clusters(delays_ms[inside])
        return found

    def _clusters(self, delays_ms: Floats) -> Figure:
        # A random order would need chance: every k-th is as good, and the same every time.
        step = max(1, delays_ms.size // _SAMPLES_MAX)
        return Figure(len(clusters(delays_ms[::step], self.context.measure.hop_ms)), "clusters")
