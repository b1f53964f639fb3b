"""Packets that the network dropped, by reason."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Rows
from penstock.trace.fates import DropReason


class Drops(Kernel):
    """Counts them; a reason that never was is 0."""

    READS: ClassVar = {"drops": ("reason",)}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._dropped: Counter[str] = Counter()

    def take(self, rows: Rows) -> None:
        """Counts."""
        for reason in DropReason:
            self._dropped[reason] += int(np.count_nonzero(rows.is_one_of("reason", {reason})))

    def tell(self, findings: Findings) -> None:
        """One figure for each reason."""
        if "drops" in self.subject.recorded:
            for reason in DropReason:
                findings.figure(f"drops.{reason}", self._dropped[reason], "packets")
