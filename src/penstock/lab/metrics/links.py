"""What the links between brokers carry and lose, from samples of them.

The use of a link is the bits it sent by the bits it could have sent. A link without a
capacity has no use.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND, Instant, to_seconds
from penstock.lab.metrics.base import Context, Figure, Floats, Metric
from penstock.trace.batch import Batch

_FULL: Final = 0.95
_SMOOTH_S: Final = 0.5


class Links(Metric):
    """Use of the busiest link, packets lost by reason, the longest queue."""

    TABLES: ClassVar[tuple[str, ...]] = ("links", "queues")
    _REASONS = ("queue_full_packets", "loss_packets", "down_packets", "corrupt_packets")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # Of each link with a capacity: when samples were taken, bits sent, bits possible.
        self._samples: dict[str, list[Floats]] = {}
        self._is_sampled = False
        self._lost: Counter[str] = Counter()
        self._sent = 0
        self._queue_bytes = 0
        # When a full queue first dropped something.
        self._overload: Instant | None = None

    def take(self, batch: Batch) -> None:
        """Adds samples up."""
        columns = batch.columns
        if batch.table.name == "queues":
            self._queue_bytes = max(self._queue_bytes, int(columns["held_bytes"].values.max()))
            return
        for reason in self._REASONS:
            self._lost[reason] += int(columns[reason].values.sum())
        full = columns["sampled_ns"].values[columns["queue_full_packets"].values > 0]
        if self._overload is None and full.size:
            self._overload = int(full[0])
        self._sent += int(columns["sent_packets"].values.sum())
        at_s = (columns["sampled_ns"].values - self.context.origin) / SECOND
        inside = (at_s > 0) & (at_s <= self.context.duration / SECOND)
        self._is_sampled = self._is_sampled or bool(inside.any())
        capacity = columns["capacity_bps"]
        if capacity.valid is not None:
            inside &= capacity.valid
        sent_bits = columns["sent_bytes"].values * 8.0
        possible_bits = capacity.values * (columns["period_ns"].values / SECOND)
        samples = np.stack([at_s, sent_bits, possible_bits], axis=1)
        codes = columns["link"].values
        for code, name in enumerate(columns["link"].names or ()):
            own = samples[inside & (codes == code)]
            if own.size:
                self._samples.setdefault(name, []).append(own)

    def figures(self) -> dict[str, Figure]:
        """Packets and queues of all links, and the use of the busiest one."""
        if not self._is_sampled:
            return {}
        found = {
            "link_packets": Figure(self._sent, "packets"),
            "queue_max": Figure(self._queue_bytes, "B"),
            "overload_from": Figure(self._overload_from(), "s"),
        }
        found |= {name: Figure(self._lost[name], "packets") for name in self._REASONS}
        return found | self._use_of_busiest()

    def _use_of_busiest(self) -> dict[str, Figure]:
        """Of the link whose use is the largest over the experiment; also of each phase."""
        links = [np.concatenate(batches) for batches in self._samples.values()]
        if not links:
            return {}
        at_s, sent_bits, possible_bits = max(links, key=_use).T
        found = {"bottleneck_use": Figure(float(sent_bits.sum() / possible_bits.sum()))}
        for name, (low, high) in self.context.phases().items():
            # Samples are taken at the end of what they tell of.
            inside = (at_s > low) & (at_s <= high)
            if inside.any():
                sent, possible = sent_bits[inside], possible_bits[inside]
                found[f"bottleneck_use.{name}"] = Figure(float(sent.sum() / possible.sum()))
                filled_s = filled_after(sent / possible, high - low)
                found[f"filled_after.{name}"] = Figure(filled_s, "s")
        return found

    def _overload_from(self) -> float:
        """When the first queue was full, by the experiment's clock; its end if none ever was."""
        if self._overload is None:
            return to_seconds(self.context.duration)
        return to_seconds(max(0, self._overload - self.context.origin))


def _use(samples: Floats) -> float:
    _, sent_bits, possible_bits = samples.sum(axis=0)
    return float(sent_bits / possible_bits)


def filled_after(use: Floats, span_s: float) -> float:
    """How long until all of the link is used; all of the time if it never is."""
    sample_s = span_s / len(use)
    window = min(len(use), max(1, round(_SMOOTH_S / sample_s)))
    smooth = np.convolve(use, np.ones(window) / window, mode="valid")
    full = np.flatnonzero(smooth >= _FULL)
    return (int(full[0]) + window) * sample_s if full.size else span_s
