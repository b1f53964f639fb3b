"""Reports that the nodes of a cast make and receive, and how far they are aggregated on their way.

Reports are those that say what is needed and that nothing is; answers to the opening, before any
data, never count. Who forwards a report without reading it neither sends nor receives it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.casts.crossings import REPORTS
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.cast_words import CastPart, Direction

_PARTS: Final = (CastPart.PUBLISHER, CastPart.RELAY, CastPart.SUBSCRIBER)
# What is aggregated, and the column that counts it.
_AMOUNTS: Final = {
    "messages": "reported_messages",
    "bytes": "reported_bytes",
    "packets": "reported_packets",
}


class CastReports(AdditiveMetric[Batch]):
    """Adds up rows by part and direction.

    Rows of reports are by node: one part of a run has all of them.
    """

    READS: ClassVar = {"cast_reports": ("part", "direction", "kind", *_AMOUNTS.values())}
    OUTPUTS: ClassVar = (
        *(
            Output(
                name=f"reports_{direction}",
                unit="messages",
                entity=Entity.SETTING,
                window=Window.RUN,
                meaning=meaning,
            )
            for direction, meaning in (
                (
                    Direction.SENT,
                    "reports that the publisher, relays or subscribers made, aggregated ones too",
                ),
                (
                    Direction.RECEIVED,
                    "reports that came to the publisher, relays or subscribers as their addressees",
                ),
            )
        ),
        Output(
            name="aggregation",
            unit="1",
            entity=Entity.SETTING,
            window=Window.RUN,
            meaning="share that never came to the publisher of what subscribers reported: in"
            " `messages`, in `bytes`, or in `packets` that reports ask for",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._counted: Final = Tally()

    def update(self, batch: Batch) -> None:
        """Adds the next rows."""
        is_report = batch.is_one_of("kind", REPORTS)
        for part in _PARTS:
            is_own = is_report & batch.is_one_of("part", [part])
            for direction in Direction:
                rows = is_own & batch.is_one_of("direction", [direction])
                for column in _AMOUNTS.values():
                    total = batch.integers(column)[rows].sum()
                    self._counted.add(f"{direction} {column}", total, entity=part)

    def tally(self, out: Tally) -> None:
        """Messages, bytes and packets by part and direction."""
        out.merge(self._counted)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Every part, 0 for those without reports; aggregation if subscribers sent anything."""
        if not run.has("cast_reports"):
            return

        def total(direction: Direction, column: str, part: CastPart) -> int:
            return int(tally.number(f"{direction} {column}", entity=part))

        for direction in Direction:
            for part in _PARTS:
                count = total(direction, "reported_messages", part)
                out.add_value(f"reports_{direction}", count, entity=part)
        for name, column in _AMOUNTS.items():
            sent = total(Direction.SENT, column, CastPart.SUBSCRIBER)
            if sent:
                came = total(Direction.RECEIVED, column, CastPart.PUBLISHER)
                out.add_value("aggregation", 1 - came / sent, entity=name)
