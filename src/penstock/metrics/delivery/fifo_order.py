"""FIFO violations: messages received after a higher number of the same publisher and epoch.

A *descent* comes right after a higher number. Equal numbers are in order with each other.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window, correlation, share
from penstock.metrics.codes import NETWORK, grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Flags, Floats, Ints

_BELOW_ALL: Final = -1


class FifoOrder(AdditiveMetric[Receipts]):
    """Violations and descents, of what arrived and of what each ordering made of it."""

    READS: ClassVar = {"receipts": ("seq", "ended_ns")}
    OUTPUTS: ClassVar = (
        Output(
            name="violations",
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            phased=True,
            meaning="received after a higher number of the same publisher and epoch",
        ),
        Output(
            name="violation_ratio",
            unit="1",
            window=Window.RUN,
            phased=True,
            meaning="violations by messages received",
        ),
        Output(
            name="violations_removed",
            unit="1",
            window=Window.RUN,
            meaning="share of the network's violations that an ordering removed",
        ),
        Output(
            name="violations_with_deliveries",
            unit="1",
            meaning="correlation of violations with messages received, over time",
        ),
        Output(
            name="descents",
            unit="messages",
            window=Window.RUN,
            meaning="received right after a higher number of the same publisher and epoch",
        ),
        Output(
            name="unsorted_rows",
            unit="rows",
            window=Window.RUN,
            meaning="rows of the trace that came after a later one and were sorted first",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # The last number of each stream.
        self._last: Ints = np.zeros(0, np.int64)
        # By ordering: rows and late rows by second, and descents.
        self._rows: dict[str, Ints] = {}
        self._late: dict[str, Ints] = {}
        self._descents: dict[str, int] = {}

    def update(self, batch: Receipts) -> None:
        """Compares each row with the highest number before it, and with the one just before."""
        falls = self._falls(batch)
        for ordering, where in batch.by_ordering:
            ended_ns, late = batch.ended_ns[where], batch.late[where]
            if not ended_ns.size:
                continue
            per_second = self.run.per_second
            self._rows[ordering] = per_second(ended_ns) + self._rows.get(ordering, 0)
            self._late[ordering] = per_second(ended_ns[late]) + self._late.get(ordering, 0)
            descents = int(np.count_nonzero(falls[where]))
            self._descents[ordering] = descents + self._descents.get(ordering, 0)

    def tally(self, out: Tally) -> None:
        """Of each ordering of which anything came."""
        for ordering, rows in self._rows.items():
            out.add("rows", rows, ordering=ordering)
            out.add("late", self._late[ordering], ordering=ordering)
            out.add("descents", self._descents[ordering], ordering=ordering)
            # Every part sorts the whole table and counts all its rows.
            unsorted = self.run.unsorted_rows.get(ordering, 0)
            out.add("unsorted_rows", unsorted, ordering=ordering, op="max")

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Totals, phases, and what each ordering removed."""
        arrived_late = tally.get("late", ordering=NETWORK).sum()
        for ordering in tally.orderings("rows"):
            rows, late = (tally.get(name, ordering=ordering) for name in ("rows", "late"))
            out.add_series("violations", late[:-1], ordering=ordering)
            for phase, part in run.phases(whole=slice(None)):
                whose = {"ordering": ordering, "phase": phase}
                out.add_value("violations", late[part].sum(), **whose)
                out.add_value("violation_ratio", share(late[part].sum(), rows[part].sum()), **whose)
            descents = tally.number("descents", ordering=ordering)
            unsorted = tally.number("unsorted_rows", ordering=ordering)
            out.add_value("descents", descents, ordering=ordering)
            out.add_value("unsorted_rows", unsorted, ordering=ordering)
            with_deliveries = correlation(_windows(late, run), _windows(rows, run))
            out.add_value("violations_with_deliveries", with_deliveries, ordering=ordering)
            if ordering != NETWORK and arrived_late:
                removed = 1 - late.sum() / arrived_late
                out.add_value("violations_removed", removed, ordering=ordering)

    def _falls(self, batch: Receipts) -> Flags:
        groups = batch.groups
        falls = np.zeros(batch.rows, np.bool_)
        if not batch.rows:
            return falls
        self._last = grown(self._last, batch.codes.streams.count, _BELOW_ALL)
        before = np.append(_BELOW_ALL, groups.seq[:-1])
        before[groups.begins] = self._last[groups.stream]
        self._last[groups.stream] = groups.seq[groups.ends]
        falls[groups.order] = before > groups.seq
        return falls


def _windows(by_second: Ints, run: RunInfo) -> Floats:
    """Sums over windows of whole seconds of the experiment."""
    width = run.window_s
    windows = run.seconds // width
    inside = by_second[: windows * width]
    return np.asarray(inside.reshape(windows, width).sum(axis=1), np.float64)
