"""What each ordering makes of the same arrivals: violations left, and delay that it adds.

A violation is a message delivered after a higher number of the same publisher and epoch.
Extra delay lies between arrival and delivery; it is averaged over messages, and
over each pair of publisher and subscriber, of whose means quantiles are given.
A message without a time of arrival has none.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.lab.laws.disorder import Disorder
from penstock.lab.laws.violations import RunningMaximum
from penstock.lab.metrics.base import Context, Figure, Floats, Ints, Metric, Seen, is_one_of
from penstock.lab.metrics.codes import FlowNumbers, NameNumbers, PairNumbers
from penstock.trace.batch import Batch
from penstock.trace.fates import ReceiverFate

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
        self._flows, self._raw, self._disorder = FlowNumbers(), RunningMaximum(), Disorder()
        self._pairs = PairNumbers()
        # Of each ordering.
        self._counts = {name: self._zeros() for name in ("rows", "late", "falls", "turned", "held")}
        self._dropped = self._zeros()
        # Of each pair in each ordering: deliveries that have an extra delay, and the sum of it.
        self._delivered, self._extra_ns = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def take(self, batch: Batch) -> None:
        """Arrivals tell what there was to remove, deliveries what was."""
        seq = batch.columns["seq"].values
        if batch.table.name == "arrivals":
            self._raw.feed(self._flows.of(batch), seq)
            return
        ordering = self._names.of(batch.columns["ordering"])
        pair = self._pairs.of(batch) * self._width + ordering
        # In one ordering.
        flow = self._flows.of(batch) * self._width + ordering
        arrived, delivered = batch.columns["arrived_ns"], batch.columns["delivered_ns"]
        extra_ns = delivered.values - arrived.values
        has_extra = np.ones(batch.rows, np.bool_) if arrived.valid is None else arrived.valid
        dropped = is_one_of(batch, "fate", {ReceiverFate.DROPPED_LATE.value})
        self._dropped += self._by(ordering[dropped])
        if delivered.valid is not None:
            came = delivered.valid
            ordering, pair, flow, seq = ordering[came], pair[came], flow[came], seq[came]
            extra_ns, has_extra = extra_ns[came], has_extra[came]
        self._counts["rows"] += self._by(ordering)
        late, descents, inversions = self._disorder.feed(flow, seq)
        self._counts["late"] += self._by(ordering[late])
        self._counts["falls"] += self._by(ordering[descents])
        np.add.at(self._counts["turned"], ordering[late], inversions[late])
        self._counts["held"] += self._by(ordering[has_extra & (extra_ns > 0)])
        self._make_room(self._pairs.count * self._width)
        np.add.at(self._delivered, pair[has_extra], 1)
        np.add.at(self._extra_ns, pair[has_extra], extra_ns[has_extra])

    def figures(self) -> dict[str, Figure]:
        """Everything here is of an ordering."""
        return {}

    def of_orderings(self) -> dict[str, Seen]:
        """Each ordering against what arrived."""
        return {name: self._seen(number) for number, name in enumerate(self.context.orderings)}

    def _seen(self, number: int) -> Seen:
        counts = {name: int(own[number]) for name, own in self._counts.items()}
        if not counts["rows"]:
            return Seen({})
        removed = 1 - counts["late"] / self._raw.late if self._raw.late else np.nan
        found = {
            "violations": Figure(counts["late"], "messages"),
            "violation_ratio": Figure(counts["late"] / counts["rows"]),
            "violations_removed": Figure(removed),
            "descents": Figure(counts["falls"], "messages"),
            "inversions": Figure(counts["turned"]),
            "late_drops": Figure(int(self._dropped[number]), "messages"),
        }
        delivered = self._delivered[number :: self._width]
        extra_ns = self._extra_ns[number :: self._width][delivered > 0]
        delivered = delivered[delivered > 0]
        if not delivered.size:
            return Seen(found)
        pairs_ms: Floats = extra_ns / delivered / MILLISECOND
        everything = int(delivered.sum())
        found |= {
            "held_share": Figure(counts["held"] / everything),
            "extra_delay_mean": Figure(int(extra_ns.sum()) / everything / MILLISECOND, "ms"),
            "extra_delay_pairs_p50": Figure(float(np.quantile(pairs_ms, 0.5)), "ms"),
            "extra_delay_pairs_p90": Figure(float(np.quantile(pairs_ms, 0.9)), "ms"),
            "extra_delay_pairs_p99": Figure(float(np.quantile(pairs_ms, 0.99)), "ms"),
            "extra_delay_pairs_max": Figure(float(pairs_ms.max()), "ms"),
            "pairs_below_1ms": Figure(float((pairs_ms < _NOTHING_MS).mean())),
        }
        return Seen(found, quantiles={"extra_delay_pairs_ms": np.quantile(pairs_ms, _CDF).tolist()})

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
