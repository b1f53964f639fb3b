"""Queues: how much they held, and how long what joined them had to wait.

The wait is what a queue held by the rate of its link, where both were sampled at the same
instant. A queue has the name of its link. Of several samples of a link at one instant the one
with the highest rate counts.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import Entity, Metric, Output, Window
from penstock.metrics.codes import grown
from penstock.metrics.network.link_samples import rate_at
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Floats, Ints

_UNSEEN: Final = -1
_MS_PER_S: Final = 1000.0
_BITS_PER_BYTE: Final = 8


class Queues(Metric[Batch]):
    """Keeps samples within the experiment, to match those of queues with those of links."""

    READS: ClassVar = {
        "links": ("sampled_ns", "link", "capacity_bps"),
        "queues": ("sampled_ns", "queue", "held_bytes", "peak_bytes"),
    }
    KEEPS_BYTES_PER_ROW: ClassVar = 24
    OUTPUTS: ClassVar = (
        Output(
            name="queue_max",
            unit="B",
            window=Window.RUN,
            meaning="the most that any sample found in a queue",
        ),
        Output(
            name="queue_mean",
            unit="B",
            window=Window.RUN,
            meaning="what samples found in queues, mean over all samples",
        ),
        Output(
            name="queue_peak",
            unit="B",
            entity=Entity.QUEUE,
            window=Window.RUN,
            meaning="the most that a queue held, between samples too where that was watched",
        ),
        *(
            Output(name=f"queue_delay_{label}", unit="ms", entity=entity, meaning=meaning)
            for label, long_label in (("mean", "mean"), ("p95", "95th percentile"))
            for entity, meaning in (
                (Entity.QUEUE, f"{long_label} of the time to empty a queue at its link's rate"),
                (Entity.RUN, f"{long_label} of the time to empty a queue, where it is longest"),
            )
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # Of all samples.
        self._rows = self._held_sum = self._held_max = 0
        # By queue.
        self._peaks: Ints = np.zeros(0, np.int64)
        # Columns: instant, link, rate; instant, queue, bytes held.
        self._rates: list[Ints] = []
        self._held: list[Ints] = []

    def update(self, batch: Batch) -> None:
        """Takes rates of links, or what queues held."""
        if batch.table.name == "links":
            self._add_rates(batch)
        else:
            self._add_held(batch)

    def finish(self, out: Results) -> None:
        """Reports the extremes and means of each queue and of the run."""
        if not self.run.has("queues"):
            return
        out.add_value("queue_max", self._held_max)
        if self._rows:
            out.add_value("queue_mean", self._held_sum / self._rows)
        names = self.run.codes.names("queue")
        for name, peak in zip(names, self._peaks.tolist(), strict=False):
            if peak != _UNSEEN:
                out.add_value("queue_peak", peak, entity=name)
        delays_ms = self._delays_ms()
        means = {name: float(own.mean()) for name, own in delays_ms.items()}
        p95s = {name: float(np.quantile(own, 0.95)) for name, own in delays_ms.items()}
        for label, values in (("mean", means), ("p95", p95s)):
            for name, value in values.items():
                out.add_value(f"queue_delay_{label}", value, entity=name)
            if values:
                out.add_value(f"queue_delay_{label}", max(values.values()))

    def _add_rates(self, batch: Batch) -> None:
        # A null rate, of a link without a limit, is 0: such a link has no queue.
        sampled_ns, rate_bps = batch.integers("sampled_ns"), batch.integers("capacity_bps")
        kept = self.run.sampled_within(sampled_ns) & (rate_bps > 0)
        self._rates.append(np.stack([sampled_ns, batch.codes("link"), rate_bps])[:, kept])

    def _add_held(self, batch: Batch) -> None:
        sampled_ns, queue = batch.integers("sampled_ns"), batch.codes("queue")
        held = batch.integers("held_bytes")
        self._rows += batch.rows
        self._held_sum += int(held.sum())
        self._held_max = max(self._held_max, int(held.max()))
        self._peaks = grown(self._peaks, int(queue.max()) + 1, _UNSEEN)
        # A peak that was not watched is 0.
        np.maximum.at(self._peaks, queue, np.maximum(held, batch.integers("peak_bytes")))
        inside = self.run.sampled_within(sampled_ns)
        self._held.append(np.stack([sampled_ns, queue, held])[:, inside])

    def _delays_ms(self) -> dict[str, Floats]:
        """The wait at each sample of a queue, for queues whose link has a rate."""
        nothing = np.zeros((3, 0), np.int64)
        rate_ns, link, rate_bps = np.concatenate([nothing, *self._rates], axis=1)
        held_ns, queue, held_bytes = np.concatenate([nothing, *self._held], axis=1)
        names = self.run.codes.names("queue")
        links = {name: code for code, name in enumerate(self.run.codes.names("link"))}
        found = {}
        for code in np.unique(queue).tolist():
            name = names[code]
            own, its = queue == code, link == links.get(name, _UNSEEN)
            rate, is_known = rate_at(rate_ns[its], rate_bps[its], held_ns[own])
            if is_known.any():
                held_bits = held_bytes[own][is_known] * _BITS_PER_BYTE
                found[name] = held_bits * _MS_PER_S / rate[is_known]
        return found
