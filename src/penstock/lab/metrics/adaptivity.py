"""One pair over time: does the latch follow the rate?

The pair is the first publisher of one group and the first subscriber of another. The probability
of a violation is what the transport's own estimator makes of it: that a message overtakes the
highest one received before it, given how far apart the two left. Everything belongs to the second
in which its message was published.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.metrics.base import Metric, Output, correlation
from penstock.metrics.pair_groups import PairGroups
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Floats, Ints
from penstock.transport.order.delay_estimator import DelayEstimator
from penstock.transport.order.delay_law import tail


class Adaptivity(Metric[Batch]):
    """What figure 3.15 of the dissertation shows."""

    READS: ClassVar = {
        "publications": ("publisher", "published_ns"),
        "arrivals": ("subscriber", "publisher", "epoch", "seq", "published_ns", "arrived_ns"),
        "deliveries": ("ordering", "subscriber", "publisher", "published_ns", "latch_ns"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="violation_chance",
            unit="1",
            meaning="probability that a message of the pair overtakes another, mean over seconds",
        ),
        Output(
            name="chance_with_rate",
            unit="1",
            meaning="correlation of that probability with the publisher's rate, over seconds",
        ),
        Output(
            name="pair_publications",
            unit="messages",
            kinds=("series",),
            meaning="messages that the pair's publisher sent",
        ),
        Output(
            name="pair_out_of_order",
            unit="messages",
            kinds=("series",),
            meaning="messages of the pair that arrived after a higher number of the same epoch",
        ),
        Output(
            name="pair_violation_chance",
            unit="1",
            kinds=("series",),
            meaning="probability that a message of the pair overtakes another",
        ),
        Output(
            name="pair_held",
            unit="messages",
            kinds=("value", "series"),
            meaning="messages of the pair that an ordering held under a latch",
        ),
        Output(
            name="pair_latch_max",
            unit="ms",
            meaning="the longest latch of the pair's messages",
        ),
        Output(
            name="pair_latch_mean",
            unit="ms",
            meaning="mean latch of the pair's messages that were held",
        ),
        Output(
            name="held_with_rate",
            unit="1",
            meaning="correlation of the share of messages held with the publisher's rate",
        ),
        Output(
            name="latch_with_rate",
            unit="1",
            meaning="correlation of the mean latch of all messages with the publisher's rate",
        ),
        Output(
            name="pair_latch_mean_ms",
            unit="ms",
            kinds=("series",),
            meaning="mean latch of the pair's messages that were held",
        ),
        Output(
            name="pair_latch_max_ms",
            unit="ms",
            kinds=("series",),
            meaning="the longest latch of the pair's messages",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._pair: Final = PairGroups.first(run)
        self._published: Ints = np.zeros(run.seconds + 1, np.int64)
        self._overtaking: Final = _Overtaking(run)
        # By ordering, those first that the experiment declares.
        self._latches: Final = {name: _Latches(run) for name in run.orderings}

    def update(self, batch: Batch) -> None:
        """Keeps to the pair."""
        if batch.table.name == "publications":
            rows = self._pair.is_published(batch) & batch.present("published_ns")
            self._published += self.run.per_second(batch.integers("published_ns")[rows])
            return
        rows = self._pair.is_between(batch)
        if not rows.any():
            return
        if batch.table.name == "arrivals":
            columns = ("epoch", "seq", "published_ns", "arrived_ns")
            lists = (batch.integers(column)[rows].tolist() for column in columns)
            for row in zip(*lists, strict=True):
                self._overtaking.on_arrival(*row)
            return
        names, codes = batch.names("ordering"), batch.codes("ordering")
        is_held = rows & batch.present("latch_ns")
        for code in np.flatnonzero(np.bincount(codes[rows])).tolist():
            latches = self._latches.setdefault(names[code], _Latches(self.run))
            held = is_held & (codes == code)
            latches.add(batch.integers("published_ns")[held], batch.integers("latch_ns")[held])

    def finish(self, out: Results) -> None:
        """Reports the pair's rate and chances, and what each ordering held."""
        if not self._pair or not self.run.has("publications"):
            return
        published = self._published[:-1]
        out.add_series("pair_publications", published)
        if self.run.has("arrivals"):
            self._overtaking.report(published, out)
        if self.run.has("deliveries"):
            for ordering, latches in self._latches.items():
                latches.report(published, ordering, out)


class _Overtaking:
    """Chances that messages overtake others, and messages that did, by second."""

    def __init__(self, run: RunInfo) -> None:
        self._run: Final = run
        self._estimator: Final = DelayEstimator()
        # By epoch: the highest number so far, and when that message was published.
        self._highest: Final[dict[int, tuple[int, Instant]]] = {}
        self._late: Final = np.zeros(run.seconds, np.int64)
        self._chances: Final = np.zeros(run.seconds)
        self._judged: Final = np.zeros(run.seconds, np.int64)

    def on_arrival(self, epoch: int, seq: int, published_ns: Instant, arrived_ns: Instant) -> None:
        """Judges the next message before the estimator learns of it."""
        second = (published_ns - self._run.origin) // SECOND
        highest = self._highest.get(epoch)
        if highest is not None and 0 <= second < self._run.seconds:
            self._judge(seq, published_ns, highest, second)
        self._estimator.on_arrival(published_ns, now=arrived_ns)
        if highest is None or seq > highest[0]:
            self._highest[epoch] = seq, published_ns

    def report(self, published: Ints, out: Results) -> None:
        """Reports whether chances follow the rate."""
        judged = self._judged > 0
        chances = self._chances / np.maximum(self._judged, 1)
        out.add_series("pair_out_of_order", self._late)
        out.add_series("pair_violation_chance", chances)
        if judged.any():
            out.add_value("violation_chance", chances[judged].mean())
        with_rate = correlation(chances[judged], published[judged].astype(np.float64))
        out.add_value("chance_with_rate", with_rate)

    def _judge(
        self, seq: int, published_ns: Instant, highest: tuple[int, Instant], second: int
    ) -> None:
        highest_seq, before_ns = highest
        if seq < highest_seq:
            self._late[second] += 1
            return
        self._chances[second] += tail((published_ns - before_ns) / self._estimator.scale_ns)
        self._judged[second] += 1


class _Latches:
    """What one ordering held, by second."""

    def __init__(self, run: RunInfo) -> None:
        self._run: Final = run
        self._held: Final = np.zeros(run.seconds, np.int64)
        self._sum_ns: Final = np.zeros(run.seconds, np.int64)
        self._max_ns: Final = np.zeros(run.seconds, np.int64)

    def add(self, published_ns: Ints, latch_ns: Ints) -> None:
        """Adds messages that were held."""
        second = self._run.second_of(published_ns)
        inside = (second >= 0) & (second < self._run.seconds)
        second, latch_ns = second[inside], latch_ns[inside]
        np.add.at(self._held, second, 1)
        np.add.at(self._sum_ns, second, latch_ns)
        np.maximum.at(self._max_ns, second, latch_ns)

    def report(self, published: Ints, ordering: str, out: Results) -> None:
        """Reports latches, and whether they follow the rate."""
        held, sum_ns = self._held, self._sum_ns
        mean_ms: Floats = sum_ns / np.maximum(held, 1) / MILLISECOND
        out.add_series("pair_held", held, ordering=ordering)
        out.add_series("pair_latch_mean_ms", mean_ms, ordering=ordering)
        out.add_series("pair_latch_max_ms", self._max_ns / MILLISECOND, ordering=ordering)
        out.add_value("pair_held", held.sum(), ordering=ordering)
        longest_ns = float(self._max_ns.max(initial=0))
        out.add_value("pair_latch_max", longest_ns / MILLISECOND, ordering=ordering)
        if not held.any():
            return
        mean_ns = float(sum_ns.sum() / held.sum())
        out.add_value("pair_latch_mean", mean_ns / MILLISECOND, ordering=ordering)
        rate, at_least_one = published.astype(np.float64), np.maximum(published, 1)
        held_with_rate = correlation(held / at_least_one, rate)
        out.add_value("held_with_rate", held_with_rate, ordering=ordering)
        latch_with_rate = correlation(sum_ns / at_least_one, rate)
        out.add_value("latch_with_rate", latch_with_rate, ordering=ordering)
