"""How evenly receivers fared: Jain's index over their rates of reception.

Receivers are all that anything was expected for or came to. The index does not
change when all rates are divided by the same time, so that counts do.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.fairness.jain import jain
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Ints, Rows


class Fairness(Kernel):
    """Jain's index of the network and of each ordering."""

    READS: ClassVar = {"expected": ("subscriber",)}
    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._receivers: set[int] = set()
        # Of each flow.
        self._nobody: Final[Ints] = np.zeros(0, np.int64)
        self._received: dict[int, Ints] = {}

    def take(self, rows: Rows) -> None:
        """Who was to get something."""
        self._receivers |= {*np.unique(rows.codes("subscriber")).tolist()}

    def see(self, receipts: Receipts) -> None:
        """Who got how much."""
        for code, where in receipts.by_ordering:
            size = self.subject.books.flows.count
            before = self._received.get(code, self._nobody)
            counts = np.bincount(receipts.flow[where], minlength=size)
            counts[: len(before)] += before
            self._received[code] = counts

    def tell(self, findings: Findings) -> None:
        """A network that nobody was to get anything from has no index."""
        books = self.subject.books
        pair_of_flow, _ = books.flows.parts()
        subscriber_of_pair, _ = books.pairs.parts()
        subscriber = subscriber_of_pair[pair_of_flow]
        for code, name in self.subject.orderings():
            flows = self._received.get(code, self._nobody)
            by_subscriber = np.zeros(len(books.names_of("subscriber")), np.int64)
            np.add.at(by_subscriber, subscriber[: len(flows)], flows)
            receivers = sorted(self._receivers | {*np.flatnonzero(by_subscriber).tolist()})
            if receivers:
                findings.figure("jain", jain(by_subscriber[receivers].tolist()), ordering=name)
