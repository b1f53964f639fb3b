"""How near services came to the effair ideal, which gives time its due [001].

`services` says what is judged. Arrivals count, whatever an ordering makes of them.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Receipts
from penstock.pipeline.kernels.rows import SEQ_BITS, Floats, Ints, Rows
from penstock.pipeline.kernels.services import NEEDED, Edge, Offer, Service, judge

_NEVER: Final = np.iinfo(np.int64).min
_ALWAYS: Final = np.iinfo(np.int64).max
_EXPECTED: Final = ("subscriber", "publisher", "epoch", "seq", "published_ns")


class Effairness(Kernel):
    """Effairness of the run, of publishers and of pairs."""

    READS: ClassVar = {
        "publications": ("publisher", "published_ns", "size_bytes"),
        "expected": _EXPECTED,
        "edges": ("start", "end", "capacity_bps", "delay_ns"),
        "links": ("sampled_ns", "link", "period_ns", "capacity_bps"),
    }
    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._edges: list[Edge] = []
        # Of links that were sampled, by number: bits possible, and how long that was told of.
        self._could: Floats = np.zeros((0, 2))
        self._offered: Counter[int] = Counter()
        self._sent: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()
        # Of each pair.
        self._content: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._expected: Ints = np.zeros(0, np.int64)
        self._first: Ints = np.zeros(0, np.int64)
        self._last: Ints = np.zeros(0, np.int64)
        # Of each flow.
        self._received: Ints = np.zeros(0, np.int64)
        self._received_last: Ints = np.zeros(0, np.int64)

    def take(self, rows: Rows) -> None:
        """Each table for itself."""
        if rows.table == "publications":
            self._take_publications(rows)
        elif rows.table == "expected":
            self._take_expected(rows)
        elif rows.table == "links":
            self._take_links(rows)
        else:
            self._take_edges(rows)

    def see(self, receipts: Receipts) -> None:
        """What the network brought."""
        if receipts.is_of_network:
            flows = self.subject.books.flows.count
            self._received = grown(self._received, flows, 0)
            self._received_last = grown(self._received_last, flows, _NEVER)
            np.add.at(self._received, receipts.flow, 1)
            np.maximum.at(self._received_last, receipts.flow, receipts.arrived_ns)

    def tell(self, findings: Findings) -> None:
        """Needs all of its tables."""
        if {*NEEDED} <= self.subject.recorded:
            names = self.subject.books.names_of("link")
            there = np.flatnonzero(self._could[:, 1]).tolist()
            means = {names[code]: float(np.divide(*self._could[code])) for code in there}
            edges = [edge.with_rate(means.get(edge.link)) for edge in self._edges]
            judge(edges, self._offers(), self._services(), findings)

    def _take_publications(self, rows: Rows) -> None:
        publisher = rows.codes("publisher")
        left, size_bytes = rows.present("published_ns"), rows.integers("size_bytes")
        self._offered.update(_counts(publisher))
        self._sent.update(_counts(publisher[left]))
        for code in np.unique(publisher).tolist():
            self._bytes[code] += int(size_bytes[left & (publisher == code)].sum())

    def _take_expected(self, rows: Rows) -> None:
        books = self.subject.books
        pair = books.pairs.of(rows.codes("subscriber"), rows.codes("publisher"))
        self._content = grown(self._content, books.pairs.count, 0)
        self._expected = grown(self._expected, books.pairs.count, 0)
        self._first = grown(self._first, books.pairs.count, _ALWAYS)
        self._last = grown(self._last, books.pairs.count, _NEVER)
        np.add.at(self._content, pair, _mixed(rows.integers("epoch"), rows.seq))
        np.add.at(self._expected, pair, 1)
        np.minimum.at(self._first, pair, rows.integers("published_ns"))
        np.maximum.at(self._last, pair, rows.integers("published_ns"))

    def _take_links(self, rows: Rows) -> None:
        facts = self.subject.facts
        since = rows.integers("sampled_ns") - facts.origin
        inside = (since > 0) & (since <= facts.duration) & rows.present("capacity_bps")
        link = rows.codes("link")[inside]
        period_s = rows.integers("period_ns")[inside] / SECOND
        could = rows.integers("capacity_bps")[inside] * period_s
        self._could = grown(self._could, int(link.max(initial=-1)) + 1, 0)
        np.add.at(self._could, link, np.stack([could, period_s], axis=1))

    def _take_edges(self, rows: Rows) -> None:
        names = self.subject.books.names_of
        starts, ends = rows.codes("start").tolist(), rows.codes("end").tolist()
        limits, limited = rows.integers("capacity_bps").tolist(), rows.present("capacity_bps")
        for number, delay_ns in enumerate(rows.integers("delay_ns").tolist()):
            capacity_bps = limits[number] if limited[number] else None
            ends_at = names("start")[starts[number]], names("end")[ends[number]]
            self._edges.append(Edge(*ends_at, capacity_bps, delay_ns))

    def _offers(self) -> dict[str, Offer]:
        names = self.subject.books.names_of("publisher")
        return {
            names[code]: Offer(count, self._sent[code], self._bytes[code])
            for code, count in self._offered.items()
        }

    def _services(self) -> list[Service]:
        books = self.subject.books
        subscriber, publisher = books.pairs.parts()
        received, received_last = self._received_by_pair()
        subscribers, publishers = books.names_of("subscriber"), books.names_of("publisher")
        return [
            Service(
                publishers[publisher[pair]],
                subscribers[subscriber[pair]],
                int(self._content[pair]),
                int(self._expected[pair]),
                int(self._first[pair]),
                int(self._last[pair]),
                int(received[pair]),
                int(received_last[pair]) if received[pair] else None,
            )
            for pair in np.flatnonzero(self._expected).tolist()
        ]

    def _received_by_pair(self) -> tuple[Ints, Ints]:
        books = self.subject.books
        pair_of_flow, _ = books.flows.parts()
        received = np.zeros(books.pairs.count, np.int64)
        last = np.full(books.pairs.count, _NEVER, np.int64)
        known = min(len(pair_of_flow), len(self._received))
        np.add.at(received, pair_of_flow[:known], self._received[:known])
        np.maximum.at(last, pair_of_flow[:known], self._received_last[:known])
        return received, last


def _counts(codes: Ints) -> dict[int, int]:
    values, counts = np.unique(codes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _mixed(epoch: Ints, seq: Ints) -> NDArray[np.uint64]:
    """A number for each message whose sums tell sets of messages apart (splitmix64)."""
    mixed = (epoch.astype(np.uint64) << np.uint64(SEQ_BITS)) + seq.astype(np.uint64)
    mixed += np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
