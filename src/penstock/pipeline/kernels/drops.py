"""Packets that the network dropped, by reason; and messages that it lost so.

A packet that is dropped because another of the same came before is no loss.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Ints, Rows
from penstock.trace.fates import DropReason

# Reasons why a message does not come.
LOSSES: Final = tuple(reason for reason in DropReason if reason is not DropReason.DUPLICATE)


class Drops(Kernel):
    """Counts them; a reason that never was is 0."""

    READS: ClassVar = {"drops": ("dropped_ns", "reason", "publisher")}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._dropped: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._by_second: dict[DropReason, Ints] = {}

    def take(self, rows: Rows) -> None:
        """Counts; what has a publisher is a message."""
        dropped_ns, is_message = rows.integers("dropped_ns"), rows.present("publisher")
        for reason in DropReason:
            is_it = rows.is_one_of("reason", {reason})
            self._dropped[reason] += int(np.count_nonzero(is_it))
            lost_ns = dropped_ns[is_it & is_message]
            if lost_ns.size and reason in LOSSES:
                self._lost[reason] += lost_ns.size
                by_second = self.subject.facts.per_second(lost_ns)
                self._by_second[reason] = by_second + self._by_second.get(reason, 0)

    def tell(self, findings: Findings) -> None:
        """One figure for each reason; seconds of those that there were."""
        if "drops" not in self.subject.recorded:
            return
        for reason in DropReason:
            findings.figure(f"drops.{reason}", self._dropped[reason], "packets")
        findings.figure("lost", self._lost.total(), "packets")
        for reason in LOSSES:
            findings.figure(f"lost.{reason}", self._lost[reason], "packets")
        total = np.zeros(self.subject.facts.seconds, np.int64)
        for reason, by_second in self._by_second.items():
            findings.seconds(f"lost.{reason}", by_second)
            total = total + by_second
        findings.seconds("lost", total)
