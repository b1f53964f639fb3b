"""Clusters of the network's delays: messages cluster by the number of links they crossed.

Clusters are counted in a sample, so that a long run needs no more memory than a short one.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import Metric, Output, Window
from penstock.metrics.delivery.spans import rows_by_span
from penstock.metrics.laws.clusters import SpanError, clusters
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Ints

SAMPLE_MAX: Final = 1_000_000
# Milliseconds that a link takes, unless the experiment says otherwise.
_HOP_MS: Final = 50.0


class DelayClusters(Metric[Batch]):
    """Counts clusters of all delays, and of those of messages that arrived in each phase."""

    READS: ClassVar = {"arrivals": ("published_ns", "arrived_ns")}
    OUTPUTS: ClassVar = (
        Output(
            name="delay_clusters",
            unit="clusters",
            window=Window.RUN,
            phased=True,
            meaning="clusters that delays from publication to arrival fall into",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._whole = Sample()
        self._phases = {phase: Sample() for phase in run.phase_bounds}

    def update(self, batch: Batch) -> None:
        """Samples the delays."""
        arrived_ns = batch.integers("arrived_ns")
        delays_ns = arrived_ns - batch.integers("published_ns")
        self._whole.add(delays_ns)
        if self._phases:
            for phase, rows in rows_by_span(self.run, arrived_ns):
                if phase:
                    self._phases[phase].add(delays_ns[rows])

    def finish(self, out: Results) -> None:
        """Counts clusters where anything arrived, unless delays are too far apart for any."""
        hop_ms = self.run.measure.get("hop_ms", _HOP_MS)
        for phase, sample in {"": self._whole, **self._phases}.items():
            delays_ns = sample.values()
            if delays_ns.size:
                # One absurd delay must not cost the run all its other metrics.
                try:
                    found = clusters(delays_ns / MILLISECOND, hop_ms)
                except SpanError:
                    continue
                out.add_value("delay_clusters", len(found), phase=phase)


class Sample:
    """Every k-th value, from the first on; k is 1 and doubles whenever the sample is full.

    A random sample would be no better, and not the same every time.
    """

    def __init__(self, size_max: int = SAMPLE_MAX) -> None:
        self._size_max: Final = size_max
        self._parts: list[Ints] = []
        self._size = 0
        self._step = 1
        # Values to pass over before the next that is kept.
        self._skip = 0

    def add(self, values: Ints) -> None:
        """Adds the next values, of which it keeps some."""
        if not values.size:
            return
        # A copy: a slice would keep the whole batch.
        kept = values[self._skip :: self._step].copy()
        self._skip = (self._skip - len(values)) % self._step
        self._parts.append(kept)
        self._size += len(kept)
        while self._size > self._size_max:
            self._thin_out()

    def values(self) -> Ints:
        """The sample, in the order of its values."""
        self._parts = [np.concatenate([np.zeros(0, np.int64), *self._parts])]
        return self._parts[0]

    def _thin_out(self) -> None:
        before = self.values()
        self._parts = [before[::2].copy()]
        self._size = len(self._parts[0])
        # The next to be kept was to be the one after the last, which has an odd place or an even.
        self._skip += self._step * (len(before) % 2)
        self._step *= 2
