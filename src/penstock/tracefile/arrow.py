"""The only module that uses Arrow: packed columns to Parquet files, and back.

Arrow's own types stay untyped here; no other module of the project imports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.trace.batch import NULL_CODE, Batch, PackedColumn
from penstock.trace.schema import Column, ColumnType, Table

ArrowTable: TypeAlias = Any

# Raised for a damaged or truncated file.
FileErrors: Final = (pa.ArrowException, OSError, EOFError)
# Raised for a column of another type.
CastErrors: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)

TYPES: Final = {
    ColumnType.NAME: pa.dictionary(pa.int32(), pa.string()),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.FLAG: pa.bool_(),
}


def arrow_schema(table: Table, metadata: Mapping[str, str] | None = None) -> Any:
    """The Arrow schema of a table; `metadata` is written into the file."""
    fields = [pa.field(c.name, TYPES[c.kind], c.nullable) for c in table.columns]
    return pa.schema(fields, metadata=dict(metadata or {}))


class ParquetFile:
    """A Parquet file that is being written."""

    __slots__ = ("_schema", "_writer")

    def __init__(self, path: Path, table: Table, metadata: Mapping[str, str]) -> None:
        self._schema = arrow_schema(table, metadata)
        names = [c.name for c in table.columns if c.kind is ColumnType.NAME]
        # Times and counts rise by small steps: their differences take a third of the space.
        whole = [c.name for c in table.columns if c.kind is ColumnType.INTEGER]
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=names,
            column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
        )

    def write(self, table: Table, batches: Sequence[Batch]) -> None:
        """Writes consecutive batches as one row group."""
        columns = [_array(c, [batch.columns[c.name] for batch in batches]) for c in table.columns]
        group = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(group, row_group_size=max(1, group.num_rows))

    def close(self) -> None:
        """Writes the footer; without it the file cannot be read."""
        self._writer.close()


def _array(column: Column, parts: Sequence[PackedColumn]) -> Any:
    values = np.concatenate([part.values for part in parts])
    if column.kind is ColumnType.NAME:
        # The names of the last batch include those of all batches before it.
        mask = values == NULL_CODE if column.nullable else None
        names = pa.array(parts[-1].names, pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(values, pa.int32(), mask=mask), names)
    mask = None
    if any(part.valid is not None for part in parts):
        valid = [np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts]
        mask = ~np.concatenate(valid)
    return pa.array(values, TYPES[column.kind], mask=mask)


def batch_of(table: Table, found: ArrowTable) -> Batch:
    """A piece of a table as a batch, without copying columns that have no nulls."""
    columns = {name: _packed(_one_chunk(found[name])) for name in found.column_names}
    return Batch(table, found.num_rows, columns)


def _packed(array: Any) -> PackedColumn:
    if pa.types.is_dictionary(array.type):
        codes = pc.fill_null(array.indices, NULL_CODE) if array.null_count else array.indices
        return PackedColumn(codes.to_numpy(), names=array.dictionary.to_pylist())
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        array = pc.fill_null(array, pa.scalar(0, array.type))
    return PackedColumn(array.to_numpy(zero_copy_only=False), valid)


def _one_chunk(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def open_parquet(path: Path) -> Any:
    """Opens a Parquet file for reading; page checksums are verified."""
    return pq.ParquetFile(path, page_checksum_verification=True)


def metadata_of(file: Any) -> dict[str, str]:
    """The metadata that the writer stored in the file."""
    stored = file.schema_arrow.metadata or {}
    return {key.decode(): value.decode() for key, value in stored.items()}


def column_names(file: Any) -> list[str]:
    """All columns of the file, including unknown ones."""
    return list(file.schema_arrow.names)


def row_count(file: Any) -> int:
    """Row count according to the file's footer."""
    return int(file.metadata.num_rows)


def tables_in(file: Any, columns: Sequence[str], rows: int) -> Iterator[ArrowTable]:
    """The chosen columns, in pieces of at most `rows` rows."""
    for batch in file.iter_batches(rows, columns=list(columns)):
        yield pa.Table.from_batches([batch])


def conform(table: Table, found: ArrowTable) -> ArrowTable:
    """Puts columns into our order and types; absent columns get their defaults."""
    columns = []
    for column in table.columns:
        target = TYPES[column.kind]
        if column.name not in found.column_names:
            array: Any = pa.array([column.default] * found.num_rows, _plain(target))
        else:
            array = found[column.name]
        columns.append(_cast(array, target))
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))


def _plain(target: Any) -> Any:
    return target.value_type if pa.types.is_dictionary(target) else target


def _cast(array: Any, target: Any) -> Any:
    if array.type == target:
        return array
    if pa.types.is_dictionary(target):
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        # Without this check Arrow would silently turn numbers into text.
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            raise pa.ArrowTypeError(f"{array.type} is no text")
        return array.cast(pa.string()).dictionary_encode()
    return array.cast(target)


def filter_rows(found: ArrowTable, where: Mapping[str, str | int]) -> ArrowTable:
    """The rows that have these values."""
    for name, value in where.items():
        found = found.filter(pc.equal(found[name], value))
    return found


def concatenate(table: Table, pieces: Sequence[ArrowTable]) -> ArrowTable:
    """Pieces of one table as one, with one dictionary per column."""
    if not pieces:
        return arrow_schema(table).empty_table()
    return pa.concat_tables(pieces).unify_dictionaries()


def null_columns(table: Table, found: ArrowTable) -> list[str]:
    """Columns that contain nulls although they are not nullable."""
    return [c.name for c in table.columns if not c.nullable and found[c.name].null_count]


def rows_of(found: ArrowTable) -> Iterator[tuple[Any, ...]]:
    """The rows as Python values."""
    return zip(*(column.to_pylist() for column in found.columns), strict=True)
