"""One pair over time: does the latch follow the rate?

The pair is the first publisher of one group and the first subscriber of another.
The probability of a violation is what the transport's own estimator makes of it:
that a message overtakes the one that was received before it, from how far apart
the two left. Everything belongs to the second in which its message was published.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.base import (
    Context,
    Figure,
    Floats,
    Ints,
    Metric,
    Seen,
    correlation,
    has_left,
    is_one_of,
)
from penstock.lab.metrics.codes import NameNumbers
from penstock.trace.batch import Batch
from penstock.transport.order.delay_estimator import DelayEstimator
from penstock.transport.order.delay_law import tail


class Adaptivity(Metric):
    """What Figure 3.15 of the dissertation shows."""

    TABLES: ClassVar[tuple[str, ...]] = ("publications", "arrivals", "deliveries")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        publishers, subscribers = context.measure.pair or ("", "")
        self._publisher = set(context.members.get(publishers, ())[:1])
        self._subscriber = set(context.members.get(subscribers, ())[:1])
        self._published = np.zeros(context.seconds, np.int64)
        self._late = self._published.copy()
        self._estimator = DelayEstimator()
        self._highest = -1
        self._before_ns = 0
        self._chances = np.zeros(context.seconds)
        self._judged = self._published.copy()
        # Of each ordering, by second: messages held, their latches' sum and maximum.
        self._names = NameNumbers(context.orderings)
        shape = (max(1, len(context.orderings)), context.seconds)
        self._held, self._latch_ns = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._longest_ns = np.zeros(shape, np.int64)

    def take(self, batch: Batch) -> None:
        """Keeps to the pair."""
        rows = is_one_of(batch, "publisher", self._publisher)
        if batch.table.name == "publications":
            rows &= has_left(batch)
        else:
            rows &= is_one_of(batch, "subscriber", self._subscriber)
        if not rows.any():
            return
        columns = {name: packed.values[rows] for name, packed in batch.columns.items()}
        if batch.table.name == "publications":
            self._published += self.per_second(columns["published_ns"])
        elif batch.table.name == "arrivals":
            for seq, left, came in zip(
                columns["seq"].tolist(),
                columns["published_ns"].tolist(),
                columns["arrived_ns"].tolist(),
                strict=True,
            ):
                self._arrived(seq, left, came)
        else:
            ordering = self._names.of(batch.columns["ordering"])[rows]
            valid = batch.columns["latch_ns"].valid
            held = np.ones(rows.sum(), np.bool_) if valid is None else valid[rows]
            self._waited(ordering[held], columns["published_ns"][held], columns["latch_ns"][held])

    def figures(self) -> dict[str, Figure]:
        """Whether the probability follows the rate."""
        judged = self._judged > 0
        chances = self._mean_chance()
        return {
            "violation_chance": Figure(float(chances[judged].mean()) if judged.any() else np.nan),
            "chance_with_rate": Figure(
                correlation(chances[judged], self._published[judged].astype(float))
            ),
        }

    def series(self) -> dict[str, list[float]]:
        """The upper three frames of the figure."""
        return {
            "pair_publications": list(map(float, self._published)),
            "pair_out_of_order": list(map(float, self._late)),
            "pair_violation_chance": self._mean_chance().tolist(),
        }

    def of_orderings(self) -> dict[str, Seen]:
        """The lower frames, one for each ordering; whether latches, over all messages, follow."""
        return {name: self._seen(number) for number, name in enumerate(self.context.orderings)}

    def _seen(self, number: int) -> Seen:
        held = self._held[number]
        mean_ms: Floats = self._latch_ns[number] / np.maximum(held, 1) / MILLISECOND
        published = np.maximum(self._published, 1)
        figures = {
            "pair_held": Figure(int(held.sum()), "messages"),
            "pair_latch_max": Figure(float(self._longest_ns[number].max()) / MILLISECOND, "ms"),
        }
        if held.any():
            figures["pair_latch_mean"] = Figure(
                float(self._latch_ns[number].sum() / held.sum()) / MILLISECOND, "ms"
            )
            rate = self._published.astype(float)
            latch = self._latch_ns[number] / published
            figures["held_with_rate"] = Figure(correlation(held / published, rate))
            figures["latch_with_rate"] = Figure(correlation(latch, rate))
        return Seen(
            figures,
            {
                "pair_held": list(map(float, held)),
                "pair_latch_mean_ms": mean_ms.tolist(),
                "pair_latch_max_ms": (self._longest_ns[number] / MILLISECOND).tolist(),
            },
        )

    def _arrived(self, seq: int, left_ns: int, came_ns: int) -> None:
        second = (left_ns - self.context.origin) // SECOND
        is_inside = 0 <= second < self.context.seconds
        if seq < self._highest:
            self._late[second] += is_inside
        elif self._highest >= 0 and is_inside:
            gap_ns = left_ns - self._before_ns
            self._chances[second] += tail(gap_ns / self._estimator.scale_ns)
            self._judged[second] += 1
        self._estimator.on_arrival(left_ns, now=came_ns)
        if seq > self._highest:
            self._highest, self._before_ns = seq, left_ns

    def _waited(self, ordering: Ints, published_ns: Ints, latch_ns: Ints) -> None:
        second = self.seconds_of(published_ns)
        inside = (second >= 0) & (second < self.context.seconds)
        where = ordering[inside], second[inside]
        np.add.at(self._held, where, 1)
        np.add.at(self._latch_ns, where, latch_ns[inside])
        np.maximum.at(self._longest_ns, where, latch_ns[inside])

    def _mean_chance(self) -> Floats:
        return self._chances / np.maximum(self._judged, 1)
