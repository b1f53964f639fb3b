"""How often repairs and reports of a cast cross links, beside unicast recovery and the bound.

A *crossing* is one packet on one directed link. It is *false* if the tree of the transfer does not
have the link, as filters match links that they were not made for; false ones always count. Reports
are those that say what is needed (`needs`) and that nothing is (`done`); answers to the opening,
before any data, are no feedback. The bound is that of repairs if only the publisher has the object,
with any code: it is an expectation, so that one run may lie below it.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.casts.yardsticks import COLUMNS, add_yardsticks, ratio
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.cast_words import CastKind, Yardstick

REPORTS: Final = (CastKind.NEEDS, CastKind.DONE)
_COUNTED: Final = (CastKind.REPAIR, *REPORTS)


class CastCrossings(AdditiveMetric[Batch]):
    """Adds up rows by kind.

    None of these rows belongs to a subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {
        "cast_crossings": ("kind", "is_planned", "crossed_packets"),
        "cast_nodes": ("repair_packets",),
        "cast_yardsticks": ("yardstick", *COLUMNS),
    }
    OPTIONAL: ClassVar = frozenset({"cast_nodes", "cast_yardsticks"})
    OUTPUTS: ClassVar = (
        Output(
            name="repair_crossings",
            unit="packets",
            window=Window.RUN,
            meaning="repair packets times links that they crossed, false crossings included",
        ),
        Output(
            name="repair_false_crossings",
            unit="packets",
            window=Window.RUN,
            meaning="false crossings among `repair_crossings`",
        ),
        Output(
            name="report_crossings",
            unit="messages",
            window=Window.RUN,
            meaning="reports times links that they crossed, false crossings included",
        ),
        Output(
            name="report_crossings",
            unit="messages",
            entity=Entity.SETTING,
            window=Window.RUN,
            meaning="the same of reports of one kind: `needs` or `done`",
        ),
        Output(
            name="report_false_crossings",
            unit="messages",
            window=Window.RUN,
            meaning="false crossings among `report_crossings`",
        ),
        *(
            Output(name=name, unit="1", window=Window.RUN, meaning=meaning)
            for name, meaning in (
                ("repairs_of_unicast", "`repair_crossings` by those of unicast recovery"),
                ("repairs_over_bound", "`repair_crossings` by their bound"),
                (
                    "repair_nodes_of_unicast",
                    "repair packets times nodes that sent them, by the same of unicast recovery",
                ),
                (
                    "repair_nodes_over_bound",
                    "repair packets times nodes that sent them, by their bound",
                ),
                (
                    "needs_of_unicast",
                    "`report_crossings.needs` by NAKs times links of unicast recovery",
                ),
                (
                    "feedback_of_unicast",
                    "`report_crossings` by NAKs times links of unicast recovery",
                ),
            )
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._counted: Final = Tally()

    def update(self, batch: Batch) -> None:
        """Adds the next rows."""
        counted = self._counted
        if batch.table.name == "cast_yardsticks":
            add_yardsticks(batch, counted)
        elif batch.table.name == "cast_nodes":
            counted.add("nodes", batch.integers("repair_packets").sum())
        else:
            packets = batch.integers("crossed_packets")
            is_false = ~batch.integers("is_planned").astype(np.bool_)
            for kind in _COUNTED:
                is_own = batch.is_one_of("kind", [kind])
                counted.add("crossed", packets[is_own].sum(), entity=kind)
                counted.add("false", packets[is_own & is_false].sum(), entity=kind)

    def tally(self, out: Tally) -> None:
        """Crossings by kind, packets of nodes, and yardsticks."""
        out.merge(self._counted)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Counts, and their ratios to the yardsticks that are known."""
        if not run.has("cast_crossings"):
            return
        crossed = {kind: tally.number("crossed", entity=kind) for kind in _COUNTED}
        false = {kind: tally.number("false", entity=kind) for kind in _COUNTED}
        repairs, needs = crossed[CastKind.REPAIR], crossed[CastKind.NEEDS]
        reports = sum(crossed[kind] for kind in REPORTS)
        out.add_value("repair_crossings", repairs)
        out.add_value("repair_false_crossings", false[CastKind.REPAIR])
        out.add_value("report_crossings", reports)
        out.add_value("report_false_crossings", sum(false[kind] for kind in REPORTS))
        for kind in REPORTS:
            out.add_value("report_crossings", crossed[kind], entity=kind)
        bound = Yardstick.PUBLISHER_ONLY
        out.add_value("repairs_of_unicast", ratio(repairs, tally, "repair_crossings"))
        out.add_value("repairs_over_bound", ratio(repairs, tally, "repair_crossings", bound))
        out.add_value("needs_of_unicast", ratio(needs, tally, "report_crossings"))
        out.add_value("feedback_of_unicast", ratio(reports, tally, "report_crossings"))
        if run.has("cast_nodes"):
            nodes = tally.number("nodes")
            out.add_value("repair_nodes_of_unicast", ratio(nodes, tally, "repair_packets"))
            out.add_value("repair_nodes_over_bound", ratio(nodes, tally, "repair_packets", bound))
