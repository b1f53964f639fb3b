"""The tables as data: name, type, unit and meaning of every column, derived from the records.

Arrow's schema, the documentation and Spark's schema all come from `TABLES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT
from msgspec.structs import fields

from penstock.trace import records
from penstock.trace.records import Row

# Major: older files cannot be read. Minor: columns or tables were added.
SCHEMA_MAJOR: Final = 1
SCHEMA_MINOR: Final = 7
SCHEMA_VERSION: Final = f"{SCHEMA_MAJOR}.{SCHEMA_MINOR}"

# The last part of a column's name gives its unit.
UNITS: Final = MappingProxyType(
    {
        "ns": "ns",
        "bytes": "B",
        "mps": "messages/s",
        "bps": "bit/s",
        "packets": "packets",
        "messages": "messages",
    }
)


class ColumnType(StrEnum):
    """Column types; names are dictionary-encoded text."""

    NAME = "name"
    INTEGER = "int64"
    REAL = "float64"
    FLAG = "bool"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `enums`, if any, define all the values it may have."""

    name: str
    kind: ColumnType
    nullable: bool
    unit: str
    meaning: str
    enums: tuple[type[StrEnum], ...]
    default: Any = NODEFAULT

    @property
    def required(self) -> bool:
        """Whether a file without it cannot be read."""
        return self.default is NODEFAULT


@dataclass(frozen=True, slots=True)
class Table:
    """One table; its rows are in order of `time`, within each value of `within`."""

    name: str
    record: type[Row]
    meaning: str
    columns: tuple[Column, ...]
    time: str | None
    within: str | None


def table_of(record: type[Row]) -> Table:
    """Derives a table from a record's fields."""
    hints = get_type_hints(record, include_extras=True)
    columns = tuple(_column(f.name, hints[f.name], f.default) for f in fields(record))
    doc = (record.__doc__ or "").splitlines()[0]
    return Table(record.TABLE, record, doc, columns, record.TIME, record.WITHIN)


def _column(name: str, hint: Any, default: Any) -> Column:
    assert get_origin(hint) is Annotated, f"{name} says nothing of its meaning"
    plain, meaning = get_args(hint)
    options = get_args(plain) if get_origin(plain) in {Union, UnionType} else (plain,)
    types = tuple(option for option in options if option is not NoneType)
    enums = tuple(t for t in types if issubclass(t, StrEnum))
    kinds = {str: ColumnType.NAME, int: ColumnType.INTEGER, float: ColumnType.REAL}
    kind = ColumnType.NAME if enums else {**kinds, bool: ColumnType.FLAG}[types[0]]
    unit = UNITS.get(name.rpartition("_")[2], "")
    return Column(name, kind, NoneType in options, unit, meaning, enums, default)


TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {
        record.TABLE: table_of(record)
        for record in (
            records.Run,
            records.Host,
            records.Publication,
            records.Expected,
            records.Arrival,
            records.Delivery,
            records.Loss,
            records.Request,
            records.Repair,
            records.Signal,
            records.Feedback,
            records.FlowSample,
            records.CacheSample,
            records.Edge,
            records.LinkSample,
            records.TcpSample,
            records.QueueSample,
            records.StreamSample,
            records.CrossingSample,
            records.StreamAlert,
            records.CastTransfer,
            records.CastCrossing,
            records.CastNodeTotal,
            records.CastReport,
            records.CastYardstick,
            records.Drop,
            records.Hop,
        )
    }
)
RUNS: Final = TABLES[records.Run.TABLE]
HOSTS: Final = TABLES[records.Host.TABLE]
# The tables of events, which the hash covers.
EVENTS: Final = tuple(table for table in TABLES.values() if table not in (RUNS, HOSTS))
