"""Effairness: how close the network's services came to the effair ideal [001].

The module `services` says which services are judged, on which network. Arrivals count, whatever
an ordering makes of them. Where data go both ways over links that share traffic, clocks cannot be
brought together [001 §3], and the run is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.fairness.effairness import Outcome, effairness
from penstock.kernel.errors import UsageError
from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.codes import SEQ_BITS, grown
from penstock.metrics.network.link_samples import CAPACITY_COLUMNS, LinkSamples
from penstock.metrics.network.services import Edge, Offer, Service, network_of, with_rates
from penstock.metrics.network.sums import added
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Floats, Ints

# Tables without which nothing can be judged; samples of links are optional.
_NEEDED: Final = ("publications", "expected", "arrivals", "edges")
_NEVER: Final = np.iinfo(np.int64).min
_ALWAYS: Final = np.iinfo(np.int64).max
# The capacity of an edge without a limit in a tally.
_UNLIMITED: Final = -1


class Effairness(AdditiveMetric[Batch]):
    """Effairness of the run, of publishers and of pairs.

    A pair is in one part of a run; publications, edges and links all are in the same one.
    """

    READS: ClassVar = {
        "publications": ("publisher", "published_ns", "size_bytes"),
        "expected": ("subscriber", "publisher", "epoch", "seq", "published_ns"),
        "arrivals": ("subscriber", "publisher", "arrived_ns"),
        "edges": ("start", "end", "capacity_bps", "delay_ns"),
        "links": CAPACITY_COLUMNS,
    }
    OPTIONAL: ClassVar = frozenset({"links"})
    OUTPUTS: ClassVar = (
        Output(
            name="effairness",
            unit="1",
            window=Window.RUN,
            meaning="ideal time of service by actual time, mean over sessions",
        ),
        Output(
            name="effairness",
            unit="1",
            entity=Entity.PUBLISHER,
            window=Window.RUN,
            meaning="ideal time of service by actual time, mean over a publisher's sessions",
        ),
        Output(
            name="effairness",
            unit="1",
            entity=Entity.PAIR,
            window=Window.RUN,
            meaning="ideal time of service by actual time",
        ),
        Output(
            name="effairness_judged",
            unit="1",
            window=Window.RUN,
            meaning="1 if the run could be compared with the ideal, 0 if its network rules it out",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._edges: list[Edge] = []
        # By link, of those with a limit.
        self._possible_bits: Floats = np.zeros(0)
        self._period_s: Floats = np.zeros(0)
        # By publisher.
        self._offered: Ints = np.zeros(0, np.int64)
        self._sent: Ints = np.zeros(0, np.int64)
        self._sent_bytes: Ints = np.zeros(0, np.int64)
        # By pair.
        self._content: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._expected: Ints = np.zeros(0, np.int64)
        self._first_ns: Ints = np.zeros(0, np.int64)
        self._last_ns: Ints = np.zeros(0, np.int64)
        self._received: Ints = np.zeros(0, np.int64)
        self._received_last_ns: Ints = np.zeros(0, np.int64)

    def update(self, batch: Batch) -> None:
        """Takes the next rows of any of the tables."""
        match batch.table.name:
            case "publications":
                self._offer(batch)
            case "expected":
                self._expect(batch)
            case "arrivals":
                self._receive(batch)
            case "edges":
                self._add_edges(batch)
            case "links":
                samples = LinkSamples(batch, self.run)
                self._possible_bits = added(
                    self._possible_bits, samples.link, samples.possible_bits
                )
                self._period_s = added(self._period_s, samples.link, samples.period_s)

    def tally(self, out: Tally) -> None:
        """The network, offers by publisher, and services by pair."""
        self._tally_network(out)
        publishers = self.run.codes.names("publisher")
        for code in np.flatnonzero(self._offered).tolist():
            offer = self._offered[code], self._sent[code], self._sent_bytes[code]
            out.add("offers", offer, entity=publishers[code])
        self._make_room_for_pairs()
        pairs = np.flatnonzero(self._expected)
        columns = (
            # Sums of hashes, of which only equality counts.
            self._content.view(np.int64),
            self._expected,
            self._first_ns,
            self._last_ns,
            self._received,
            self._received_last_ns,
        )
        subscribers, publishers = self.run.codes.pair_names(pairs)
        values = np.stack([column[pairs] for column in columns], axis=1)
        out.add_entities("services", subscribers, values, peers=publishers)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Compares services with the ideal; reports nothing of a run without any."""
        if not run.has(*_NEEDED):
            return
        offers = {
            publisher: Offer(*tally.get("offers", entity=publisher).tolist())
            for publisher in tally.names_of_entities("offers")
        }
        services = with_rates(_services(tally), offers)
        if not services:
            return
        try:
            outcome = effairness(network_of(_edges(tally), offers, services))
        except UsageError:
            out.add_value("effairness_judged", 0)
            return
        out.add_value("effairness_judged", 1)
        _report_outcome(outcome, out)

    def _offer(self, batch: Batch) -> None:
        publisher, was_sent = batch.codes("publisher"), batch.present("published_ns")
        sent_bytes = np.where(was_sent, batch.integers("size_bytes"), 0)
        self._offered = added(self._offered, publisher, 1)
        self._sent = added(self._sent, publisher, was_sent)
        self._sent_bytes = added(self._sent_bytes, publisher, sent_bytes)

    def _expect(self, batch: Batch) -> None:
        pair, published_ns = self.run.codes.pair_of(batch), batch.integers("published_ns")
        self._make_room_for_pairs()
        np.add.at(self._content, pair, _hashes(batch.integers("epoch"), batch.integers("seq")))
        np.add.at(self._expected, pair, 1)
        np.minimum.at(self._first_ns, pair, published_ns)
        np.maximum.at(self._last_ns, pair, published_ns)

    def _receive(self, batch: Batch) -> None:
        pair = self.run.codes.pair_of(batch)
        self._make_room_for_pairs()
        np.add.at(self._received, pair, 1)
        np.maximum.at(self._received_last_ns, pair, batch.integers("arrived_ns"))

    def _make_room_for_pairs(self) -> None:
        pairs = self.run.codes.pairs.count
        self._content = grown(self._content, pairs, 0)
        self._expected = grown(self._expected, pairs, 0)
        self._first_ns = grown(self._first_ns, pairs, _ALWAYS)
        self._last_ns = grown(self._last_ns, pairs, _NEVER)
        self._received = grown(self._received, pairs, 0)
        self._received_last_ns = grown(self._received_last_ns, pairs, _NEVER)

    def _add_edges(self, batch: Batch) -> None:
        starts, ends = batch.names("start"), batch.names("end")
        is_limited = batch.present("capacity_bps").tolist()
        rows = zip(
            batch.codes("start").tolist(),
            batch.codes("end").tolist(),
            batch.integers("capacity_bps").tolist(),
            batch.integers("delay_ns").tolist(),
            strict=True,
        )
        for (start, end, capacity_bps, delay_ns), limited in zip(rows, is_limited, strict=True):
            edge = Edge(starts[start], ends[end], capacity_bps if limited else None, delay_ns)
            self._edges.append(edge)

    def _tally_network(self, out: Tally) -> None:
        if self._edges:
            out.add_entities(
                "edges",
                [edge.start for edge in self._edges],
                [
                    (_UNLIMITED if edge.capacity_bps is None else edge.capacity_bps, edge.delay_ns)
                    for edge in self._edges
                ],
                peers=[edge.end for edge in self._edges],
            )
        links = self.run.codes.names("link")
        for code in np.flatnonzero(self._period_s).tolist():
            amounts = self._possible_bits[code], self._period_s[code]
            out.add("link_amounts", amounts, entity=links[code])


def _edges(tally: Tally) -> list[Edge]:
    """All edges; those that were sampled have their mean rate."""
    rates = {
        link: float(np.divide(*tally.get("link_amounts", entity=link)))
        for link in tally.names_of_entities("link_amounts")
    }
    found = tally.entities("edges")
    edges = (
        Edge(start, end, None if capacity_bps == _UNLIMITED else capacity_bps, delay_ns)
        for start, end, (capacity_bps, delay_ns) in zip(
            found.names, found.peers, found.values.tolist(), strict=True
        )
    )
    return [edge.with_rate(rates.get(edge.link)) for edge in edges]


def _services(tally: Tally) -> list[Service]:
    found = tally.entities("services")
    rows = zip(found.names, found.peers, found.values.tolist(), strict=True)
    return [
        Service(
            publisher,
            subscriber,
            content,
            expected,
            first,
            last,
            received,
            last_received if received else None,
        )
        for subscriber, publisher, (content, expected, first, last, received, last_received) in rows
    ]


def _report_outcome(outcome: Outcome, out: Results) -> None:
    sessions = outcome.network.sessions
    out.add_value("effairness", outcome.overall)
    by_publisher: dict[str, list[float]] = defaultdict(list)
    for session in sessions:
        by_publisher[session.sender.host].append(outcome.by_session[session.id])
    for publisher, indices in by_publisher.items():
        out.add_value("effairness", sum(indices) / len(indices), entity=publisher)
    out.add_pairs(
        "effairness",
        [receiver.host for session in sessions for receiver in session.receivers],
        [session.sender.host for session in sessions for _ in session.receivers],
        outcome.by_receiver,
    )


def _hashes(epoch: Ints, seq: Ints) -> NDArray[np.uint64]:
    """A number for each message such that sums of them tell sets of messages apart (splitmix64)."""
    mixed = (epoch.astype(np.uint64) << np.uint64(SEQ_BITS)) + seq.astype(np.uint64)
    mixed += np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
