"""Flow tables of publishers: how many flows they hold, and how much of its quota a flow sends.

A sample describes the time before it, so it counts in the second that it ends. A flow that is
sampled several times in a second counts once. Samples of the warm-up do not count.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output, share
from penstock.metrics.codes import PairCodes, grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Floats, Ints


class FlowTable(AdditiveMetric[Batch]):
    """Sizes of flow tables by second, and each flow against its quota."""

    READS: ClassVar = {"flows": ("sampled_ns", "publisher", "flow", "quota_mps", "sent_mps")}
    OUTPUTS: ClassVar = (
        Output(
            name="flow_table_mean",
            unit="flows",
            meaning="mean number of flows in a publisher's flow table, over seconds",
        ),
        Output(
            name="flow_table_max",
            unit="flows",
            meaning="most flows in one publisher's flow table within a second",
        ),
        Output(
            name="quota_use",
            unit="1",
            meaning="rate sent by rate allowed, summed over all samples of flows",
        ),
        Output(
            name="flow_table",
            unit="flows",
            entity=Entity.PUBLISHER,
            kinds=("series",),
            meaning="flows in this publisher's flow table in each second",
        ),
        Output(
            name="flow_quota_mps",
            unit="messages/s",
            entity=Entity.FLOW,
            meaning="mean rate that was allowed to the flow",
        ),
        Output(
            name="flow_sent_mps",
            unit="messages/s",
            entity=Entity.FLOW,
            meaning="mean rate that was sent of the flow",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # Publisher and filter.
        self._flows: Final = PairCodes()
        # By flow: samples, and the sums of the rates that were allowed and sent.
        self._samples: Ints = np.zeros(0, np.int64)
        self._quota: Floats = np.zeros(0)
        self._sent: Floats = np.zeros(0)
        # By flow and second, whether there was a sample.
        self._seen: Flags = np.zeros((0, run.seconds), np.bool_)

    def update(self, batch: Batch) -> None:
        """Adds up the samples of each flow within the experiment."""
        second = self.run.sampled_second(batch.integers("sampled_ns"))
        inside = (second >= 0) & (second < self.run.seconds)
        flow = self._flows.of(batch.codes("publisher"), batch.codes("flow"))[inside]
        count = self._flows.count
        self._samples = grown(self._samples, count, 0)
        self._quota, self._sent = grown(self._quota, count, 0), grown(self._sent, count, 0)
        self._seen = grown(self._seen, count, fill=False)
        np.add.at(self._samples, flow, 1)
        np.add.at(self._quota, flow, batch.reals("quota_mps")[inside])
        np.add.at(self._sent, flow, batch.reals("sent_mps")[inside])
        self._seen[flow, second[inside]] = True

    def tally(self, out: Tally) -> None:
        """Table sizes by publisher, and the sums of each flow that was sampled."""
        sampled = np.flatnonzero(self._samples)
        publisher, filter_ = (codes[sampled] for codes in self._flows.parts())
        publishers = self.run.codes.names("publisher")
        seen = self._seen[sampled]
        for code in np.unique(publisher).tolist():
            out.add("flow_table", seen[publisher == code].sum(axis=0), entity=publishers[code])
        filters = self.run.codes.names("flow")
        out.add_entities(
            "flows",
            [filters[code] for code in filter_.tolist()],
            np.stack([each[sampled] for each in (self._samples, self._quota, self._sent)], axis=1),
            peers=[publishers[code] for code in publisher.tolist()],
        )

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Sizes of tables, then each flow against its quota."""
        if not run.has("flows"):
            return
        there = tally.names_of_entities("flow_table")
        sizes = [tally.get("flow_table", entity=publisher) for publisher in there]
        for publisher, size in zip(there, sizes, strict=True):
            out.add_series("flow_table", size, entity=publisher)
        every = np.concatenate([np.zeros(0, np.int64), *sizes])
        out.add_value("flow_table_mean", share(every.sum(), every.size))
        out.add_value("flow_table_max", every.max(initial=0))
        flows = tally.entities("flows")
        samples, quota, sent = flows.values.reshape(-1, 3).T
        out.add_pairs("flow_quota_mps", flows.names, flows.peers, quota / samples)
        out.add_pairs("flow_sent_mps", flows.names, flows.peers, sent / samples)
        if quota.sum() > 0:
            out.add_value("quota_use", sent.sum() / quota.sum())
