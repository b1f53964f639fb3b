"""What comes out: the gold tables, in long form, so that a new metric needs no new column.

    figures      one number of one run (and ordering)
    pairs        one number of one publisher and subscriber
    seconds      one number of one second of the experiment
    histograms   how many of a quantity fell into a bin; bins of the same quantity add up
    summary      figures over seeds: mean, and the half-width of its 95 % interval

`ordering` is empty where a figure is the network's and not an ordering's.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

_TEXT: Final = StringType()
_WHOLE: Final = LongType()
_NUMBER: Final = DoubleType()


def _table(**columns: StringType | LongType | DoubleType) -> StructType:
    return StructType([StructField(name, kind, nullable=False) for name, kind in columns.items()])


FIGURES: Final = _table(run=_TEXT, ordering=_TEXT, metric=_TEXT, value=_NUMBER, unit=_TEXT)
PAIRS: Final = _table(
    run=_TEXT, ordering=_TEXT, subscriber=_TEXT, publisher=_TEXT, metric=_TEXT, value=_NUMBER
)
SECONDS: Final = _table(run=_TEXT, ordering=_TEXT, metric=_TEXT, second=_WHOLE, value=_NUMBER)
HISTOGRAMS: Final = _table(run=_TEXT, ordering=_TEXT, metric=_TEXT, bin=_WHOLE, count=_WHOLE)
SUMMARY: Final = StructType(
    [
        *_table(
            experiment=_TEXT,
            profile=_TEXT,
            variant=_TEXT,
            ordering=_TEXT,
            parameters=_TEXT,
            metric=_TEXT,
            unit=_TEXT,
            seeds=_WHOLE,
            mean=_NUMBER,
        ).fields,
        # Of one seed there is none.
        StructField("ci95", _NUMBER, nullable=True),
    ]
)
GOLD: Final = {
    "figures": FIGURES,
    "pairs": PAIRS,
    "seconds": SECONDS,
    "histograms": HISTOGRAMS,
    "summary": SUMMARY,
}
