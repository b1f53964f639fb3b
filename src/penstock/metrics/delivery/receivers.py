"""What each receiver got of each publisher; and, of few receivers, second by second."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric, Entity, Output
from penstock.metrics.codes import grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Ints

# Of more receivers there would be more series than anybody looks at.
RECEIVERS_MAX: Final = 32
_SERIES: Final = {"expected": "wanted", "arrivals": "received"}


class Receivers(AdditiveMetric[Batch]):
    """Rates of pairs, and series of receivers if there are at most `RECEIVERS_MAX`.

    A receiver is who anything was for or came to.
    """

    READS: ClassVar = {
        "expected": ("subscriber", "publisher", "published_ns"),
        "arrivals": ("subscriber", "publisher", "arrived_ns"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="received_mps",
            unit="/s",
            entity=Entity.PAIR,
            meaning="messages of the publisher that arrived at the subscriber",
        ),
        Output(
            name="received",
            unit="messages",
            entity=Entity.SUBSCRIBER,
            kinds=("series",),
            meaning=f"messages that arrived; of at most {RECEIVERS_MAX} receivers",
        ),
        Output(
            name="wanted",
            unit="messages",
            entity=Entity.SUBSCRIBER,
            kinds=("series",),
            meaning="messages that the subscriber was to get, by second of publication; of at"
            f" most {RECEIVERS_MAX} receivers",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By pair: whether it has a row, and how many messages came within the experiment.
        self._is_pair: Flags = np.zeros(0, np.bool_)
        self._came: Ints = np.zeros(0, np.int64)
        # By subscriber: whether it is a receiver, and its series while receivers are few.
        self._is_receiver: Flags = np.zeros(0, np.bool_)
        self._by_second: dict[str, Ints] = {
            name: np.zeros((0, run.seconds + 1), np.int64) for name in _SERIES.values()
        }

    def update(self, batch: Batch) -> None:
        """Counts by pair and by subscriber."""
        is_arrival = batch.table.name == "arrivals"
        instants = batch.integers("arrived_ns" if is_arrival else "published_ns")
        pair = self.run.codes.pair_of(batch)
        size = self.run.codes.pairs.count
        self._is_pair = grown(self._is_pair, size, 0)
        self._came = grown(self._came, size, 0)
        self._is_pair[pair] = True
        second = self.run.second_of(instants)
        is_inside = (second >= 0) & (second < self.run.seconds)
        if is_arrival:
            came = np.bincount(pair[is_inside], minlength=size)
            self._came[:size] += came
        subscriber = batch.codes("subscriber")
        self._is_receiver = grown(self._is_receiver, int(subscriber.max()) + 1, 0)
        self._is_receiver[subscriber] = True
        if np.count_nonzero(self._is_receiver) > RECEIVERS_MAX:
            self._by_second.clear()
        else:
            self._add_seconds(_SERIES[batch.table.name], subscriber[is_inside], second[is_inside])

    def tally(self, out: Tally) -> None:
        """Pairs, how many receivers there are, and series unless these are too many already."""
        pairs = np.flatnonzero(self._is_pair)
        subscribers, publishers = self.run.codes.pair_names(pairs)
        out.add_entities("came", subscribers, self._came[pairs], peers=publishers)
        receivers = np.flatnonzero(self._is_receiver)
        out.add("receivers", receivers.size)
        names = self.run.codes.names("subscriber")
        for series, counted in self._by_second.items():
            by_second = grown(counted, len(names), 0)
            for code in receivers.tolist():
                out.add(series, by_second[code, :-1], entity=names[code])

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Reports what the recorded tables tell."""
        if run.has("arrivals") and run.duration:
            pairs = tally.entities("came")
            rates = pairs.values * (SECOND / run.duration)
            out.add_pairs("received_mps", pairs.names, pairs.peers, rates)
        if tally.number("receivers") > RECEIVERS_MAX:
            return
        for table, series in _SERIES.items():
            if run.has(table):
                for name in tally.names_of_entities(series):
                    out.add_series(series, tally.get(series, entity=name), entity=name)

    def _add_seconds(self, series: str, subscriber: Ints, second: Ints) -> None:
        if not subscriber.size:
            return
        width = self.run.seconds + 1
        rows = int(subscriber.max()) + 1
        counts = np.bincount(subscriber * width + second, minlength=rows * width)
        by_second = grown(self._by_second[series], rows, 0)
        by_second[:rows] += counts.reshape(rows, width)
        self._by_second[series] = by_second
