"""Searches large tables for few rows: those of one message, or the names in one column.

1. A row group whose statistics exclude such a row is not read.
2. Of the others, only the columns of the condition are read.
3. The other columns are read only in groups that have a matching row.

Names are compared by their codes: no text is made of rows that do not match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.tracefile.arrow import ArrowTable

# A range is for integers, and has no step.
RowFilter: TypeAlias = Mapping[str, str | int | range]


def find_rows(file: Any, columns: Sequence[str], where: RowFilter) -> Iterator[ArrowTable]:
    """The chosen columns of the rows that have these values, group by group."""
    for group in range(file.num_row_groups):
        if not _may_contain(file.metadata.row_group(group), where):
            continue
        keys = file.read_row_group(group, columns=list(where))
        found = np.ones(keys.num_rows, np.bool_)
        for name, value in where.items():
            found &= _equal(keys[name], value)
        rows = np.flatnonzero(found)
        if len(rows):
            yield file.read_row_group(group, columns=list(columns)).take(rows)


def distinct_names(file: Any, column: str) -> list[str]:
    """The names that occur in one column."""
    names: set[str | None] = set()
    for group in range(file.num_row_groups):
        found = file.read_row_group(group, columns=[column])[column]
        names.update(found.unique().to_pylist())
    return sorted(name for name in names if name is not None)


def _may_contain(group: Any, where: RowFilter) -> bool:
    for at in range(group.num_columns):
        column = group.column(at)
        value = where.get(column.path_in_schema)
        bounds = column.statistics if value is not None else None
        if bounds is None or not bounds.has_min_max:
            continue
        low, high = _value_range(value)
        # A column of another type is not excluded here; the reader refuses it.
        if type(bounds.min) is type(low) and (high < bounds.min or low > bounds.max):
            return False
    return True


def _value_range(value: Any) -> tuple[Any, Any]:
    return (value.start, value.stop - 1) if isinstance(value, range) else (value, value)


def _equal(column: Any, value: str | int | range) -> NDArray[np.bool_]:
    if isinstance(value, str):
        return np.concatenate(
            [np.zeros(0, np.bool_), *(_same_name(chunk, value) for chunk in column.chunks)]
        )
    values = column.to_numpy()
    low, high = _value_range(value)
    # A null is a NaN here, which is in no range.
    return np.asarray((values >= low) & (values <= high), np.bool_)


def _same_name(chunk: Any, value: str) -> NDArray[np.bool_]:
    if not hasattr(chunk, "dictionary"):
        return np.array([name == value for name in chunk.to_pylist()], np.bool_)
    names = chunk.dictionary.to_pylist()
    if value not in names:
        return np.zeros(len(chunk), np.bool_)
    codes = chunk.indices.fill_null(-1).to_numpy()
    return np.asarray(codes == names.index(value), np.bool_)
