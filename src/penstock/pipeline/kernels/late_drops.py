"""Messages that an ordering dropped because they came too late."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Rows
from penstock.trace.fates import ReceiverFate


class LateDrops(Kernel):
    """Counts them for each ordering."""

    READS: ClassVar = {"deliveries": ("ordering", "fate")}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._dropped: Counter[int] = Counter()

    def take(self, rows: Rows) -> None:
        """An ordering that drops nothing has a figure, too."""
        ordering = rows.codes("ordering")
        dropped = rows.is_one_of("fate", {ReceiverFate.DROPPED_LATE})
        counts = np.bincount(ordering[dropped], minlength=int(ordering.max()) + 1)
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            self._dropped[code] += int(counts[code])

    def tell(self, findings: Findings) -> None:
        """Of each ordering that is named."""
        for code, count in self._dropped.items():
            name = self.subject.books.ordering_name(code)
            findings.figure("late_drops", count, "messages", ordering=name)
