"""What each ordering makes of the same arrivals: violations left, and delay that it adds.

A violation is a message delivered after a higher number of the same publisher.
Extra delay lies between arrival and delivery; it is averaged over messages, and
over each pair of publisher and subscriber, of whose means quantiles are given.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.base import Context, Figure, Floats, Ints, Metric, Seen
from penstock.lab.metrics.codes import NameNumbers, PairNumbers
from penstock.metrics.laws.disorder import Disorder
from penstock.metrics.laws.violations import RunningMaximum
from penstock.trace.batch import Batch

_CDF: Final = np.linspace(0, 1, 101)
# What nobody notices.
_NOTHING_MS: Final = 1.0


class Orderings(Metric):
    """Compares orderings with each other and with no order at all."""

    TABLES: ClassVar[tuple[str, ...]] = ("arrivals", "deliveries")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names = NameNumbers(context.orderings)
        self._width = max(1, len(context.orderings))
        self._arrivals, self._raw = PairNumbers(), RunningMaximum()
        self._pairs, self._disorder = PairNumbers(), Disorder()
        # Of each ordering.
        self._counts = {name: self._zeros() for name in ("late", "falls", "turned", "held")}
        self._dropped = self._zeros()
        # Of each pair in each ordering: what was delivered, and the sum of its extra delay.
        self._delivered, self._extra_ns = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def take(self, batch: Batch) -> None:
        """Arrivals tell what there was to remove, deliveries what was."""
        seq = batch.columns["seq"].values
        if batch.table.name == "arrivals":
            self._raw.feed(self._arrivals.of(batch), seq)
            return
        ordering = self._names.of(batch.columns["ordering"])
        pair = self._pairs.of(batch) * self._width + ordering
        arrived, delivered = batch.columns["arrived_ns"].values, batch.columns["delivered_ns"]
        ended = delivered.values
        if delivered.valid is not None:
            came = delivered.valid
            self._dropped += self._by(ordering[~came])
            ordering, pair, seq = ordering[came], pair[came], seq[came]
            arrived, ended = arrived[came], ended[came]
        extra_ns = ended - arrived
        late, descents, inversions = self._disorder.feed(pair, seq)
        self._counts["late"] += self._by(ordering[late])
        self._counts["falls"] += self._by(ordering[descents])
        np.add.at(self._counts["turned"], ordering[late], inversions[late])
        self._counts["held"] += self._by(ordering[extra_ns > 0])
        self._make_room(self._pairs.count * self._width)
        np.add.at(self._delivered, pair, 1)
        np.add.at(self._extra_ns, pair, extra_ns)

    def figures(self) -> dict[str, Figure]:
        """Everything here is of an ordering."""
        return {}

    def of_orderings(self) -> dict[str, Seen]:
        """Each ordering against what arrived."""
        return {name: self._seen(number) for number, name in enumerate(self.context.orderings)}

    def _seen(self, number: int) -> Seen:
        delivered = self._delivered[number :: self._width]
        extra_ns = self._extra_ns[number :: self._width][delivered > 0]
        delivered = delivered[delivered > 0]
        if not delivered.size:
            return Seen({})
        pairs_ms: Floats = extra_ns / delivered / MILLISECOND
        everything = int(delivered.sum())
        late = int(self._counts["late"][number])
        return Seen(
            {
                "violations": Figure(late, "messages"),
                "violation_ratio": Figure(late / everything),
                "violations_removed": Figure(
                    1 - late / self._raw.late if self._raw.late else np.nan
                ),
                "descents": Figure(int(self._counts["falls"][number]), "messages"),
                "inversions": Figure(int(self._counts["turned"][number])),
                "late_drops": Figure(int(self._dropped[number]), "messages"),
                "held_share": Figure(int(self._counts["held"][number]) / everything),
                "extra_delay_mean": Figure(int(extra_ns.sum()) / everything / MILLISECOND, "ms"),
                "extra_delay_pairs_p50": Figure(float(np.quantile(pairs_ms, 0.5)), "ms"),
                "extra_delay_pairs_p90": Figure(float(np.quantile(pairs_ms, 0.9)), "ms"),
                "extra_delay_pairs_p99": Figure(float(np.quantile(pairs_ms, 0.99)), "ms"),
                "extra_delay_pairs_max": Figure(float(pairs_ms.max()), "ms"),
                "pairs_below_1ms": Figure(float((pairs_ms < _NOTHING_MS).mean())),
            },
            quantiles={"extra_delay_pairs_ms": np.quantile(pairs_ms, _CDF).tolist()},
        )

    def _by(self, orderings: Ints) -> Ints:
        return np.bincount(orderings, minlength=self._width)

    def _zeros(self) -> Ints:
        return np.zeros(self._width, np.int64)

    def _make_room(self, size: int) -> None:
        known = len(self._delivered)
        if size > known:
            more = np.zeros(max(size, 2 * known) - known, np.int64)
            self._delivered = np.append(self._delivered, more)
            self._extra_ns = np.append(self._extra_ns, more)
