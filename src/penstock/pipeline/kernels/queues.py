"""How long queues grew: the most that a sample saw, or that was seen since the one before.

And how long what joins a queue then waits in it, where the rate of its link was sampled at
the same instant. Of several samples of one link at one instant the quickest counts.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.rows import Flags, Floats, Ints, Rows

_UNSEEN: Final = -1
_P95: Final = 0.95


class Queues(Kernel):
    """The peak of each queue, where peaks were watched, the longest sampled, and delays."""

    READS: ClassVar = {
        "links": ("sampled_ns", "link", "capacity_bps"),
        "queues": ("sampled_ns", "queue", "held_bytes", "peak_bytes"),
    }

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._peaks: Ints = np.zeros(0, np.int64)
        self._held_max = 0
        # When, which link, how fast; when, which queue, how much.
        self._rates: list[Ints] = []
        self._held: list[Ints] = []

    def take(self, rows: Rows) -> None:
        """Keeps the most of each queue, and what was sampled within the experiment."""
        since = rows.integers("sampled_ns") - self.subject.facts.origin
        inside = (since > 0) & (since <= self.subject.facts.duration)
        if rows.table == "links":
            # A link without a limit has no queue.
            inside &= rows.integers("capacity_bps") > 0
            columns = since, rows.codes("link"), rows.integers("capacity_bps")
            self._rates.append(np.stack(columns)[:, inside])
            return
        queue, held = rows.codes("queue"), rows.integers("held_bytes")
        self._held_max = max(self._held_max, int(held.max()))
        self._peaks = grown(self._peaks, int(queue.max()) + 1, _UNSEEN)
        np.maximum.at(self._peaks, queue, np.maximum(held, rows.integers("peak_bytes")))
        self._held.append(np.stack([since, queue, held])[:, inside])

    def tell(self, findings: Findings) -> None:
        """`queue_max` is of samples alone, as during a run."""
        if "queues" not in self.subject.recorded:
            return
        findings.figure("queue_max", self._held_max, "B")
        names = self.subject.books.names_of("queue")
        for name, peak in zip(names, self._peaks.tolist(), strict=False):
            if peak != _UNSEEN:
                findings.figure(f"queue_peak.{name}", peak, "B")
        delays = self._delays_ms()
        for label, of in (("mean", np.mean), ("p95", _p95)):
            values = {name: float(of(own)) for name, own in delays.items()}
            for name, value in values.items():
                findings.figure(f"queue_delay_{label}.{name}", value, "ms")
            if values:
                # Of the bottleneck: where it takes longest.
                findings.figure(f"queue_delay_{label}", max(values.values()), "ms")

    def _delays_ms(self) -> dict[str, Floats]:
        """Of each queue whose link has a rate."""
        names = self.subject.books.names_of
        nothing = np.zeros((3, 0), np.int64)
        rate_at, link, capacity_bps = np.concatenate([nothing, *self._rates], axis=1)
        held_at, queue, held_bytes = np.concatenate([nothing, *self._held], axis=1)
        codes = {name: code for code, name in enumerate(names("link"))}
        found = {}
        for code in np.unique(queue).tolist():
            name = names("queue")[code]
            mine, its = queue == code, link == codes.get(name, _UNSEEN)
            rate, known = _rate_at(rate_at[its], capacity_bps[its], held_at[mine])
            if known.any():
                found[name] = held_bytes[mine][known] * 8000.0 / rate[known]
        return found


def _rate_at(instants: Ints, rates: Ints, wanted: Ints) -> tuple[Ints, Flags]:
    """The rate of a link at each instant, and whether it is known."""
    if not instants.size:
        return np.zeros(wanted.size, np.int64), np.zeros(wanted.size, np.bool_)
    order = np.lexsort([rates, instants])
    # The last of those of one instant is the quickest.
    place = np.searchsorted(instants[order], wanted, side="right") - 1
    known = (place >= 0) & (instants[order][place] == wanted)
    return rates[order][place], known


def _p95(values: Floats) -> np.floating:
    return np.quantile(values, _P95)
