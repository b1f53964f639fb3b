"""What each receiver got of each publisher; and, of few receivers, second by second.

Of many there would be more seconds than anybody looks at.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Flags, Ints, Rows

RECEIVERS_MAX: Final = 12


class Receivers(Kernel):
    """Rates of pairs, and of receivers what came (`received`) of what was sent (`wanted`)."""

    READS: ClassVar = {"expected": ("subscriber", "publisher", "published_ns")}
    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        # By subscriber, which is there if anything was for it or came to it.
        self._wanted: dict[int, Ints] = {}
        self._received: dict[int, Ints] = {}
        # By pair.
        self._is_pair: Flags = np.zeros(0, np.bool_)
        self._came: Ints = np.zeros(0, np.int64)

    def take(self, rows: Rows) -> None:
        """What was sent for somebody."""
        pair = self.subject.books.pairs.of(rows.codes("subscriber"), rows.codes("publisher"))
        self._note(pair)
        self._add(self._wanted, rows.codes("subscriber"), rows.integers("published_ns"))

    def see(self, receipts: Receipts) -> None:
        """What the network brought."""
        if not receipts.is_of_network:
            return
        books, facts = self.subject.books, self.subject.facts
        pair = books.flows.parts()[0][receipts.flow]
        self._note(pair)
        second = (receipts.arrived_ns - facts.origin) // SECOND
        np.add.at(self._came, pair[(second >= 0) & (second < facts.seconds)], 1)
        self._add(self._received, books.pairs.parts()[0][pair], receipts.arrived_ns)

    def tell(self, findings: Findings) -> None:
        """Rates where arrivals were recorded."""
        recorded, facts = self.subject.recorded, self.subject.facts
        subscribers, publishers = map(self.subject.books.names_of, ("subscriber", "publisher"))
        if "arrivals" in recorded and facts.duration:
            there = np.flatnonzero(self._is_pair)
            who, whose = (part[there].tolist() for part in self.subject.books.pairs.parts())
            rates = self._came[there] * (SECOND / facts.duration)
            names = [subscribers[code] for code in who], [publishers[code] for code in whose]
            findings.pairs("received_mps", *names, rates)
        receivers = sorted({*self._wanted, *self._received})
        if len(receivers) > RECEIVERS_MAX:
            return
        nothing = np.zeros(facts.seconds, np.int64)
        for code in receivers:
            if "arrivals" in recorded:
                own = self._received.get(code, nothing)
                findings.seconds(f"received.{subscribers[code]}", own)
            if "expected" in recorded:
                own = self._wanted.get(code, nothing)
                findings.seconds(f"wanted.{subscribers[code]}", own)

    def _note(self, pair: Ints) -> None:
        self._is_pair = grown(self._is_pair, self.subject.books.pairs.count, 0)
        self._came = grown(self._came, self.subject.books.pairs.count, 0)
        self._is_pair[pair] = True

    def _add(self, counts: dict[int, Ints], subscriber: Ints, instants: Ints) -> None:
        for code in np.unique(subscriber).tolist():
            own = self.subject.facts.per_second(instants[subscriber == code])
            counts[code] = counts[code] + own if code in counts else own
