"""Spark schemas of the gold tables, in long form, so that a new metric needs no new column.

    figures      one value per run (and ordering)
    pairs        one value per publisher and subscriber
    seconds      one value per second of the experiment
    histograms   counts per bin; bins of the same metric may be added
    summary      figures over seeds: mean, and the half-width of its 95 % interval

`ordering` is empty for figures of the network.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.pipeline.wide_table import WIDE as WIDE_ARROW

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
        # Null with one seed.
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

_KINDS: Final = {"string": _TEXT, "int64": _WHOLE, "double": _NUMBER}
# All of them as one table, which tasks return.
WIDE: Final = StructType(
    [StructField(each.name, _KINDS[str(each.type)], each.nullable) for each in WIDE_ARROW]
)


def from_wide(wide: DataFrame, table: str) -> DataFrame:
    """Selects the rows of one gold table from the wide table."""
    return wide.where(sf.col("table") == table).select(*GOLD[table].names)
