"""How much is expected, received and missed, in all and second by second.

A false negative is a row of `expected` whose message never came: to the endpoint,
for the network, or to the application, for an ordering. It belongs to the second
in which it was published.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject, share
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.ledger import EXPECTED_COLUMNS
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Ints, Rows


class Rates(Kernel):
    """Deliveries, false negatives; `congestion` has what was offered and sent."""

    READS: ClassVar = {"publications": ("published_ns",), "expected": EXPECTED_COLUMNS}
    SEES_RECEIPTS: ClassVar[bool] = True
    USES_LEDGER: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._rows: Counter[str] = Counter()
        self._delivered: dict[int, Ints] = {}
        self._deliveries: Counter[int] = Counter()

    def take(self, rows: Rows) -> None:
        """Counts."""
        self._rows[rows.table] += rows.count

    def see(self, receipts: Receipts) -> None:
        """Counts for each ordering."""
        for code, where in receipts.by_ordering:
            ended_ns = receipts.ended_ns[where]
            self._deliveries[code] += len(ended_ns)
            by_second = self.subject.facts.per_second(ended_ns)
            self._delivered[code] = by_second + self._delivered.get(code, 0)

    def tell(self, findings: Findings) -> None:
        """The network's own, then what each ordering made of it."""
        recorded = self.subject.recorded
        if "expected" in recorded:
            findings.figure("expected", self._rows["expected"], "deliveries")
        if {"publications", "expected"} <= recorded:
            receivers = share(self._rows["expected"], self._rows["publications"])
            findings.figure("receivers_per_message", receivers)
        for code, name in self.subject.orderings():
            findings.figure("deliveries", self._deliveries[code], "deliveries", ordering=name)
            delivered = self._delivered.get(code, self._nothing())
            findings.seconds("deliveries", delivered, ordering=name)
            if "expected" in recorded:
                self._tell_missed(code, name, findings)

    def _tell_missed(self, code: int, name: str, findings: Findings) -> None:
        ledger = self.subject.ledger
        missed = ledger.missed(code)
        count = int(missed.sum())
        findings.figure("false_negatives", count, "deliveries", ordering=name)
        findings.figure("false_negative_ratio", share(count, missed.size), ordering=name)
        by_second = self.subject.facts.per_second(ledger.published_ns()[missed])
        findings.seconds("false_negatives", by_second, ordering=name)

    def _nothing(self) -> Ints:
        return np.zeros(self.subject.facts.seconds, np.int64)
