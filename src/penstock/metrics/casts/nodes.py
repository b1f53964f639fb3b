"""Relays of a cast and filters in use: what the size of its tree costs."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.cast_words import CastPart


class CastNodes(AdditiveMetric[Batch]):
    """Counts relays and adds up filters.

    Rows of nodes belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"cast_nodes": ("part", "filters")}
    OUTPUTS: ClassVar = (
        Output(
            name="cast_relays",
            unit="nodes",
            window=Window.RUN,
            meaning="nodes that exchange the filter of packets for another one",
        ),
        Output(
            name="cast_filters",
            unit="filters",
            window=Window.RUN,
            meaning="filters that all nodes together send with",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._counted: Final = Tally()

    def update(self, batch: Batch) -> None:
        """Adds the next nodes."""
        is_relay = batch.is_one_of("part", [CastPart.RELAY])
        self._counted.add("relays", np.count_nonzero(is_relay))
        self._counted.add("filters", batch.integers("filters").sum())

    def tally(self, out: Tally) -> None:
        """Relays and filters."""
        out.merge(self._counted)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """The run as a whole."""
        if run.has("cast_nodes"):
            out.add_value("cast_relays", tally.number("relays"))
            out.add_value("cast_filters", tally.number("filters"))
