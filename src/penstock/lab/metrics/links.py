"""What the links between brokers carry and lose, from samples of them."""

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
        # Of each link, when samples were taken and what was sent of what could have been.
        self._use: dict[str, list[tuple[float, float]]] = {}
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
        names = columns["link"].names or []
        capacity = np.maximum(1, columns["capacity_bps"].values)
        use = columns["sent_bytes"].values * 8 * SECOND / columns["period_ns"].values / capacity
        rows = zip(columns["link"].values[inside], at_s[inside], use[inside], strict=True)
        for code, when_s, share in rows:
            self._use.setdefault(names[code], []).append((float(when_s), float(share)))

    def figures(self) -> dict[str, Figure]:
        """The busiest link is the one that was used most on average."""
        if not self._use:
            return {}
        busiest = max(self._use, key=lambda name: sum(share for _, share in self._use[name]))
        at_s, use = np.array(self._use[busiest]).T
        found = {
            "link_packets": Figure(self._sent, "packets"),
            "bottleneck_use": Figure(float(use.mean())),
            "queue_max": Figure(self._queue_bytes, "B"),
            "overload_from": Figure(self._overload_from(), "s"),
        }
        found |= {name: Figure(self._lost[name], "packets") for name in self._REASONS}
        for name, (low, high) in self.context.phases().items():
            # Samples are taken at the end of what they tell of.
            inside = use[(at_s > low) & (at_s <= high)]
            if inside.size:
                found[f"bottleneck_use.{name}"] = Figure(float(inside.mean()))
                found[f"filled_after.{name}"] = Figure(filled_after(inside, high - low), "s")
        return found

    def _overload_from(self) -> float:
        """When the first queue was full, by the experiment's clock; its end if none ever was."""
        if self._overload is None:
            return to_seconds(self.context.duration)
        return to_seconds(max(0, self._overload - self.context.origin))


def filled_after(use: Floats, span_s: float) -> float:
    """How long until all of the link is used; all of the time if it never is."""
    sample_s = span_s / len(use)
    window = min(len(use), max(1, round(_SMOOTH_S / sample_s)))
    smooth = np.convolve(use, np.ones(window) / window, mode="valid")
    full = np.flatnonzero(smooth >= _FULL)
    return (int(full[0]) + window) * sample_s if full.size else span_s
