"""Violations of order: what comes after a higher number of the same stream.

A *descent* comes right after a higher number. Equal numbers are in order with each
other. Rows that a trace has in another order than that of time are put in order
first, those of equal time as they stand, and `unsorted_rows` says how many there were.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject, share
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Ints

_BELOW_ALL: Final = -1


class Order(Kernel):
    """Violations and descents, of what arrived and of what each ordering made of it."""

    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._last: Ints = np.zeros(0, np.int64)
        self._rows: Counter[int] = Counter()
        self._late: Counter[int] = Counter()
        self._descents: Counter[int] = Counter()
        self._late_by_second: dict[int, Ints] = {}

    def see(self, receipts: Receipts) -> None:
        """Each row against the highest number before it, and against the one just before."""
        groups = receipts.groups
        ordering = receipts.ordering[groups.order]
        falls = self._falls(receipts)
        ended_ns = receipts.ended_ns[groups.order[receipts.late]]
        late_ordering = ordering[receipts.late]
        for code, _ in receipts.by_ordering:
            self._rows[code] += int((ordering == code).sum())
            self._descents[code] += int((falls & (ordering == code)).sum())
            its = late_ordering == code
            self._late[code] += int(its.sum())
            by_second = self.subject.facts.per_second(ended_ns[its])
            self._late_by_second[code] = by_second + self._late_by_second.get(code, 0)

    def tell(self, findings: Findings) -> None:
        """Of each ordering of which anything came."""
        arrived_late = self._late[self.subject.books.network]
        for code, name in self.subject.orderings():
            if not self._rows[code]:
                continue
            late = self._late[code]
            unsorted = self.subject.unsorted.get(name, 0)
            findings.figure("violations", late, "messages", ordering=name)
            findings.figure("violation_ratio", share(late, self._rows[code]), ordering=name)
            findings.figure("descents", self._descents[code], "messages", ordering=name)
            findings.figure("unsorted_rows", unsorted, "rows", ordering=name)
            findings.seconds("violations", self._late_by_second[code], ordering=name)
            if code != self.subject.books.network and arrived_late:
                findings.figure("violations_removed", 1 - late / arrived_late, ordering=name)

    def _falls(self, receipts: Receipts) -> np.typing.NDArray[np.bool_]:
        groups = receipts.groups
        self._last = grown(self._last, self.subject.books.streams.count, _BELOW_ALL)
        before = np.append(_BELOW_ALL, groups.seq[:-1])
        before[groups.begins] = self._last[groups.stream]
        ends = np.append(groups.begins[1:], len(groups.seq)) - 1
        self._last[groups.stream] = groups.seq[ends]
        return np.asarray(before > groups.seq)
