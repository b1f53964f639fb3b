"""What a cast is measured against, by what unicast recovery would take for the same losses.

Yardsticks are other ways to recover (PGM, reports with exact bitmaps) and bounds: with any code or
without one if only the publisher has the object, and if every node keeps what it received. Bounds
are expectations: compare means over seeds, never one run. The entity of a value is the word that
its yardstick has in the table; unicast's own values are 1.
"""

from __future__ import annotations

from math import nan
from typing import ClassVar, Final

from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.cast_words import Yardstick

COLUMNS: Final = ("report_crossings", "repair_crossings", "repair_packets")
# Outputs, the columns that they are of, and what they mean.
_OUTPUTS: Final = {
    "yardstick_repairs": (
        "repair_crossings",
        "repairs times links that they cross, by the same of unicast",
    ),
    "yardstick_nodes": (
        "repair_packets",
        "repairs times nodes that send them, by the same of unicast",
    ),
    "yardstick_feedback": (
        "report_crossings",
        "reports or NAKs times links that they cross, by the same of unicast",
    ),
}


class CastYardsticks(AdditiveMetric[Batch]):
    """Adds up rows by yardstick.

    Rows of yardsticks belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"cast_yardsticks": ("yardstick", *COLUMNS)}
    OUTPUTS: ClassVar = tuple(
        Output(name=name, unit="1", entity=Entity.SETTING, window=Window.RUN, meaning=meaning)
        for name, (_, meaning) in _OUTPUTS.items()
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._counted: Final = Tally()

    def update(self, batch: Batch) -> None:
        """Adds the next rows."""
        add_yardsticks(batch, self._counted)

    def tally(self, out: Tally) -> None:
        """Sums of each column by yardstick."""
        out.merge(self._counted)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:  # noqa: ARG003
        """Each yardstick, unicast too, as far as it is known."""
        for name, (column, _) in _OUTPUTS.items():
            for yardstick in Yardstick:
                own = tally.get(column, entity=yardstick)
                if own.size:
                    out.add_value(name, ratio(own[0], tally, column), entity=yardstick)


def add_yardsticks(batch: Batch, out: Tally) -> None:
    """Adds rows of `cast_yardsticks` by yardstick and column; what is null stays unknown."""
    for yardstick in Yardstick:
        is_own = batch.is_one_of("yardstick", [yardstick])
        for column in COLUMNS:
            known = is_own & batch.present(column)
            if known.any():
                out.add(column, batch.reals(column)[known].sum(), entity=yardstick)


def ratio(
    value: float, tally: Tally, column: str, yardstick: Yardstick = Yardstick.UNICAST
) -> float:
    """A value by what a yardstick has in a column; not a number if that is 0 or unknown."""
    whole = tally.number(column, entity=yardstick)
    return float(value / whole) if whole > 0 else nan
