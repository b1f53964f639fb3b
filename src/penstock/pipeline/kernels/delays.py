"""Delays: from publication to arrival or delivery, and from arrival to delivery.

The network's `delay` ends with the arrival, an ordering's with the delivery;
`extra_delay` is what the ordering adds. A row that lacks one of the two times has no
such delay. Means are exact; quantiles over messages come from bins of 0.1 ms, those
over pairs from the pairs' own means.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import Floats, Ints
from penstock.pipeline.kernels.spread import Spread

SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
PAIR_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
# What nobody notices.
NOTHING_MS: Final = 1.0


class Delays(Kernel):
    """Delay of everything, extra delay of what an ordering delivered."""

    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._delay = _Quantity("delay", subject)
        self._extra = _Quantity("extra_delay", subject)

    def see(self, receipts: Receipts) -> None:
        """Adds the next rows up."""
        self._delay.add(receipts, receipts.ended_ns - receipts.published_ns)
        if not receipts.is_of_network:
            self._extra.add(receipts, receipts.ended_ns - receipts.arrived_ns, only_arrived=True)

    def tell(self, findings: Findings) -> None:
        """Each quantity of each ordering."""
        self._delay.tell(findings)
        for ordering, seen in self._extra.tell(findings).items():
            findings.figure("held_share", seen.held / seen.count, ordering=ordering)
            below = float((seen.pairs_ms < NOTHING_MS).mean())
            findings.figure("pairs_below_1ms", below, ordering=ordering)


class _Seen(Spread):
    """One quantity in one ordering, with the means of its pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs_ms: Floats = np.zeros(0)


class _Quantity:
    """One quantity in all orderings, by message and by stream."""

    def __init__(self, name: str, subject: Subject) -> None:
        self._name: Final = name
        self._subject: Final = subject
        self._seen: dict[int, _Seen] = {}
        # Of each stream.
        self._counts: Ints = np.zeros(0, np.int64)
        self._totals_ns: Ints = np.zeros(0, np.int64)

    def add(self, receipts: Receipts, values_ns: Ints, *, only_arrived: bool = False) -> None:
        has = receipts.has_arrived if only_arrived else None
        for code, where in receipts.by_ordering:
            its = values_ns[where] if has is None else values_ns[where][has[where]]
            if its.size:
                self._seen.setdefault(code, _Seen()).add(its)
        groups, size = receipts.groups, self._subject.books.streams.count
        self._counts = grown(self._counts, size, 0)
        self._totals_ns = grown(self._totals_ns, size, 0)
        if has is None:
            counted = np.diff(np.append(groups.begins, len(values_ns)))
        else:
            values_ns = np.where(has, values_ns, 0)
            counted = np.add.reduceat(has[groups.order].astype(np.int64), groups.begins)
        self._counts[groups.stream] += counted
        self._totals_ns[groups.stream] += np.add.reduceat(values_ns[groups.order], groups.begins)

    def tell(self, findings: Findings) -> dict[str, _Seen]:
        """Figures, histogram and pairs' means of each ordering."""
        told = {}
        for code, name in self._subject.orderings():
            if code in self._seen:
                seen = told[name] = self._seen[code]
                self._tell_pairs(code, name, seen, findings)
                self._tell_messages(name, seen, findings)
        return told

    def _tell_messages(self, ordering: str, seen: _Seen, findings: Findings) -> None:
        seen.tell(self._name, SHARES, findings, ordering=ordering)
        figures = {"pairs_max": float(seen.pairs_ms.max())}
        for name, at in PAIR_SHARES.items():
            figures[f"pairs_{name}"] = float(np.quantile(seen.pairs_ms, at))
        for name, value in figures.items():
            findings.figure(f"{self._name}_{name}", value, "ms", ordering=ordering)

    def _tell_pairs(self, code: int, ordering: str, seen: _Seen, findings: Findings) -> None:
        books = self._subject.books
        flow, of_ordering = books.streams.parts()
        pair_of_flow, _ = books.flows.parts()
        its = np.flatnonzero(of_ordering == code)
        pair, size = pair_of_flow[flow[its]], books.pairs.count
        counts, totals_ns = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(counts, pair, self._counts[its])
        np.add.at(totals_ns, pair, self._totals_ns[its])
        there = np.flatnonzero(counts)
        seen.pairs_ms = totals_ns[there] / counts[there] / MILLISECOND
        subscriber, publisher = (part[there] for part in books.pairs.parts())
        findings.pairs(
            f"{self._name}_mean",
            [books.names_of("subscriber")[code] for code in subscriber.tolist()],
            [books.names_of("publisher")[code] for code in publisher.tolist()],
            seen.pairs_ms,
            ordering=ordering,
        )
