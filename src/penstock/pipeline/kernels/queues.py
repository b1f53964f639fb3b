"""How long queues grew: the most that a sample saw, or that was seen since the one before."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.rows import Ints, Rows

_UNSEEN: Final = -1


class Queues(Kernel):
    """The peak of each queue, where peaks were watched, and the longest sampled."""

    READS: ClassVar = {"queues": ("queue", "held_bytes", "peak_bytes")}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._peaks: Ints = np.zeros(0, np.int64)
        self._held_max = 0

    def take(self, rows: Rows) -> None:
        """Keeps the most of each."""
        queue, held = rows.codes("queue"), rows.integers("held_bytes")
        self._held_max = max(self._held_max, int(held.max()))
        self._peaks = grown(self._peaks, int(queue.max()) + 1, _UNSEEN)
        np.maximum.at(self._peaks, queue, np.maximum(held, rows.integers("peak_bytes")))

    def tell(self, findings: Findings) -> None:
        """`queue_max` is of samples alone, as during a run."""
        if "queues" not in self.subject.recorded:
            return
        findings.figure("queue_max", self._held_max, "B")
        names = self.subject.books.names_of("queue")
        for name, peak in zip(names, self._peaks.tolist(), strict=False):
            if peak != _UNSEEN:
                findings.figure(f"queue_peak.{name}", peak, "B")
