"""How evenly receivers fared: Jain's index over what they received within the experiment.

Receivers are all that anything was expected for or came to, at any time. The index does not
change when all rates are divided by the same time, so that counts do.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.fairness.jain import jain
from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Ints, Rows


class Fairness(Kernel):
    """Jain's index of the network and of each ordering."""

    READS: ClassVar = {"expected": ("subscriber",)}
    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._receivers: set[int] = set()
        # Of each flow: all that came, and what of it came within the experiment.
        self._nobody: Final[Ints] = np.zeros((0, 2), np.int64)
        self._received: dict[int, Ints] = {}

    def take(self, rows: Rows) -> None:
        """Who was to get something."""
        self._receivers |= {*np.unique(rows.codes("subscriber")).tolist()}

    def see(self, receipts: Receipts) -> None:
        """Who got how much."""
        facts, size = self.subject.facts, self.subject.books.flows.count
        for code, where in receipts.by_ordering:
            flow = receipts.flow[where]
            second = (receipts.ended_ns[where] - facts.origin) // SECOND
            inside = flow[(second >= 0) & (second < facts.seconds)]
            counts = [np.bincount(rows, minlength=size) for rows in (flow, inside)]
            before = self._received.get(code, self._nobody)
            self._received[code] = np.stack(counts, axis=1) + grown(before, size, 0)[:size]

    def tell(self, findings: Findings) -> None:
        """A network that nobody was to get anything from has no index."""
        books = self.subject.books
        pair_of_flow, _ = books.flows.parts()
        subscriber_of_pair, _ = books.pairs.parts()
        subscriber = subscriber_of_pair[pair_of_flow]
        for code, name in self.subject.orderings():
            flows = self._received.get(code, self._nobody)
            by_subscriber = np.zeros((len(books.names_of("subscriber")), 2), np.int64)
            np.add.at(by_subscriber, subscriber[: len(flows)], flows)
            anything, inside = by_subscriber.T
            receivers = sorted(self._receivers | {*np.flatnonzero(anything).tolist()})
            if receivers:
                findings.figure("jain", jain(inside[receivers].tolist()), ordering=name)
