"""The codecs of one kind of frame, by class and by type code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from penstock.kernel.errors import UsageError
from penstock.wire.codec.reader import Reader


class CastFieldsCodec(Protocol):
    """Encodes and decodes the fields of one type of frame."""

    def size(self, fields: Any, /) -> int:
        """Their size in bytes."""

    def write(self, fields: Any, /) -> bytes:
        """Encodes them."""

    def read(self, cursor: Reader, /) -> Any:
        """Decodes them from where the cursor is, and leaves it behind them."""


class CastRow(NamedTuple):
    """One type of frame; `bytes_max` is of the whole frame."""

    type_code: int
    name: str
    frame_class: type
    codec: CastFieldsCodec
    bytes_max: int


class CastTable:
    """Chooses the codec; `framing_bytes` stand around the fields."""

    __slots__ = ("_by_class", "_by_code", "_framing_bytes", "rows")

    def __init__(self, rows: Iterable[CastRow], framing_bytes: int) -> None:
        self.rows: Final = tuple(rows)
        self._by_class: Final = {row.frame_class: row for row in self.rows}
        self._by_code: Final = {row.type_code: row for row in self.rows}
        self._framing_bytes: Final = framing_bytes
        assert len(self._by_class) == len(self._by_code) == len(self.rows), "a row is repeated"

    def size(self, fields: object) -> int:
        """The size of fields; raises `UsageError` if it exceeds the bound of their type."""
        row = self._row_of(fields)
        return self._check_size(row, row.codec.size(fields))

    def write(self, fields: object) -> tuple[int, bytes]:
        """A type code and the encoded fields; raises `UsageError` as `size` does."""
        row = self._row_of(fields)
        data = row.codec.write(fields)
        self._check_size(row, len(data))
        return row.type_code, data

    def row_at(self, type_code: int) -> CastRow | None:
        """The row of a type of frame that is in this table."""
        return self._by_code.get(type_code)

    def _row_of(self, fields: object) -> CastRow:
        row = self._by_class.get(type(fields))
        if row is None:
            raise UsageError(f"{type(fields).__name__} is not sent in this way")
        return row

    def _check_size(self, row: CastRow, size_bytes: int) -> int:
        if size_bytes + self._framing_bytes > row.bytes_max:
            raise UsageError(
                f"{row.name} of {size_bytes + self._framing_bytes} bytes: at most {row.bytes_max}"
                " fit, send less at once"
            )
        return size_bytes
