"""One quantity of one ordering: its mean and maximum, exact, and what bins tell of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.histogram import Histogram, quantile_ms
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Ints


class Spread:
    """Adds durations up; there is nothing to tell until there was one."""

    def __init__(self) -> None:
        self.histogram: Final = Histogram()
        self.count = 0
        self.held = 0
        self.total_ns = 0
        self.longest_ns: int | None = None

    def add(self, values_ns: Ints) -> None:
        """The next ones, if there are any."""
        if not values_ns.size:
            return
        self.histogram.add(values_ns)
        self.count += values_ns.size
        self.held += int((values_ns > 0).sum())
        self.total_ns += int(values_ns.sum())
        longest = int(values_ns.max())
        self.longest_ns = longest if self.longest_ns is None else max(longest, self.longest_ns)

    def tell(
        self, name: str, shares: Mapping[str, float], findings: Findings, *, ordering: str = ""
    ) -> None:
        """A histogram, and figures that begin with its name."""
        if self.longest_ns is None:
            return
        bins, counts = self.histogram.table()
        findings.histogram(name, bins, counts, ordering=ordering)
        longest_ms = self.longest_ns / MILLISECOND
        figures = {"mean": self.total_ns / self.count / MILLISECOND, "max": longest_ms}
        for label, at in shares.items():
            # The middle of the last bin may lie beyond what there was.
            figures[label] = min(quantile_ms(bins, counts, at), longest_ms)
        for label, value in figures.items():
            findings.figure(f"{name}_{label}", value, "ms", ordering=ordering)
