"""Checks what a metric declares, so that a slip in a class of one's own is said before a run.

Otherwise it would be a KeyError in the middle of a long measurement, or rows that never come.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from inspect import isabstract
from typing import Any, Final

from penstock.kernel.errors import UsageError
from penstock.metrics.base import MetricType, Output
from penstock.metrics.views import ledger, receipts
from penstock.trace.schema import TABLES

_VIEWS: Final[Mapping[str, frozenset[str]]] = {
    receipts.NAME: frozenset(
        {*receipts.KEY, *(name for name in dir(receipts.Receipts) if not name.startswith("_"))}
    ),
    ledger.NAME: frozenset(),
}
_SOURCES: Final = (*TABLES, *_VIEWS)


def check_metric(place: str, metric: MetricType) -> None:
    """Raises a UsageError for a class that cannot measure as it is declared."""
    if isabstract(metric):
        missing = ", ".join(sorted(metric.__abstractmethods__))
        raise UsageError(f"the metric {place!r} is abstract: name a class that has {missing}")
    _check_reads(place, getattr(metric, "READS", None))
    _check_outputs(place, getattr(metric, "OUTPUTS", None))


def _check_reads(place: str, reads: Any) -> None:
    if not isinstance(reads, Mapping):
        raise UsageError(
            f"the metric {place!r} does not say what it reads: write"
            ' READS = {"TABLE": ("COLUMN", …)}'
        )
    for source, columns in reads.items():
        if source not in _SOURCES:
            raise UsageError(
                f"the metric {place!r} reads {source!r}, which is no table:"
                f" {_choice(source, _SOURCES)}"
            )
        if not isinstance(columns, tuple):
            raise UsageError(
                f"the metric {place!r} reads {columns!r} of {source}: write a tuple of columns,"
                ' as in ("COLUMN",)'
            )
        known = columns_known(source)
        for column in columns:
            if column not in known:
                raise UsageError(
                    f"the metric {place!r} reads {column!r} of {source}, which has no such column:"
                    f" {_choice(column, known)}"
                )


def _check_outputs(place: str, outputs: Any) -> None:
    if not isinstance(outputs, tuple) or not all(isinstance(o, Output) for o in outputs):
        raise UsageError(
            f"the metric {place!r} does not say what it reports: write OUTPUTS = (Output(…),)"
        )
    units: dict[str, str] = {}
    seen = set()
    for output in outputs:
        if (output.name, output.entity) in seen:
            raise UsageError(
                f"the metric {place!r} declares {output.name} of a {output.entity} twice:"
                " rename one"
            )
        seen.add((output.name, output.entity))
        unit = units.setdefault(output.name, output.unit)
        if unit != output.unit:
            raise UsageError(
                f"the metric {place!r} declares {output.name} in {unit!r} and in {output.unit!r}:"
                " a name has one unit, rename one"
            )


def columns_known(source: str) -> list[str]:
    """The columns that a metric may ask for of a table or a view."""
    if source in _VIEWS:
        return sorted(_VIEWS[source])
    return [column.name for column in TABLES[source].columns]


def _choice(wrong: object, known: Any) -> str:
    close = get_close_matches(str(wrong), known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}choose from {', '.join(known)}" if known else "write () there"
