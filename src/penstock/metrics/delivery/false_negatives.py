"""False negatives: messages that a subscriber's filter matches and that it never got.

The network ("") missed what never arrived at the endpoint; an ordering missed what it never
gave to the application. Rows of `expected` are matched with receipts by message, so that one
that came twice hides no other. All are counted in the second in which they were published. A
message that is still under way when the run ends is a false negative, too.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window, share
from penstock.metrics.codes import NETWORK
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.ledger import Ledger
from penstock.trace.batch import Batch, Ints
from penstock.trace.fates import ReceiverFate


class FalseNegatives(AdditiveMetric[Batch | Ledger]):
    """What was missed, and how much of what was lost recovery brought back."""

    READS: ClassVar = {
        "ledger": (),
        "deliveries": ("ordering", "published_ns", "delivered_ns", "fate"),
    }
    # Of the network alone, arrivals are enough.
    OPTIONAL: ClassVar = frozenset({"deliveries"})
    OUTPUTS: ClassVar = (
        Output(
            name="false_negatives",
            unit="deliveries",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="deliveries due that never came, by second of publication",
        ),
        Output(
            name="false_negative_ratio",
            unit="1",
            window=Window.RUN,
            phased=True,
            meaning="false negatives by deliveries due",
        ),
        Output(
            name="false_negative_rate",
            unit="/s",
            phased=True,
            meaning="false negatives per second of publication",
        ),
        Output(
            name="recovered_share",
            unit="1",
            phased=True,
            meaning="deliveries that were repaired, by those and the false negatives together",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By second of publication.
        self._expected: Ints = run.per_second(np.zeros(0, np.int64))
        self._received: dict[str, Ints] = {}
        self._repaired: dict[str, Ints] = {}

    def update(self, batch: Batch | Ledger) -> None:
        """Counts repaired deliveries, and at the end what was expected and received."""
        if isinstance(batch, Batch):
            self._count_repaired(batch)
            return
        published_ns = batch.published_ns()
        self._expected = self.run.per_second(published_ns)
        network = [NETWORK] if self.run.has("arrivals") else []
        for ordering in (*network, *batch.orderings):
            received = published_ns[~batch.missed(ordering)]
            self._received[ordering] = self.run.per_second(received)

    def tally(self, out: Tally) -> None:
        """Tallies what was received: an ordering may be unknown to a part, which then missed all.

        Such a part adds to what was expected alone.
        """
        out.add("expected", self._expected)
        for ordering, received in self._received.items():
            out.add("received", received, ordering=ordering)
        for ordering, repaired in self._repaired.items():
            out.add("repaired", repaired, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Totals and phases of each ordering; nothing where nobody recorded what was due."""
        if not run.has("expected"):
            return
        expected = tally.get("expected")
        for ordering in tally.orderings("received"):
            missed = expected - tally.get("received", ordering=ordering)
            out.add_value("false_negatives", missed.sum(), ordering=ordering)
            out.add_series("false_negatives", missed[:-1], ordering=ordering)
            for phase, part in run.phases(whole=slice(None)):
                ratio = share(missed[part].sum(), expected[part].sum())
                out.add_value("false_negative_ratio", ratio, ordering=ordering, phase=phase)
            repaired = tally.get("repaired", ordering=ordering)
            _report_recovery(missed, repaired, run, out, ordering=ordering)

    def _count_repaired(self, batch: Batch) -> None:
        is_repaired = batch.is_one_of("fate", {ReceiverFate.REPAIRED})
        is_repaired &= batch.present("delivered_ns")
        if not is_repaired.any():
            return
        ordering = batch.codes("ordering")[is_repaired]
        published_ns = batch.integers("published_ns")[is_repaired]
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            name = batch.names("ordering")[code]
            by_second = self.run.per_second(published_ns[ordering == code])
            self._repaired[name] = by_second + self._repaired.get(name, 0)


def _report_recovery(
    missed: Ints, repaired: Ints, run: RunInfo, out: Results, *, ordering: str
) -> None:
    """Of messages published within the experiment, and in each of its phases."""
    for phase, low_s, high_s in run.spans():
        if high_s <= low_s:
            continue
        part = run.seconds_of(low_s, high_s)
        lost, back = int(missed[part].sum()), int(repaired[part].sum())
        rate = lost / (high_s - low_s)
        out.add_value("false_negative_rate", rate, ordering=ordering, phase=phase)
        # Nothing is repaired below an ordering: to the network, a repair is one more arrival.
        if ordering != NETWORK and (lost or back):
            recovered = back / (lost + back)
            out.add_value("recovered_share", recovered, ordering=ordering, phase=phase)
