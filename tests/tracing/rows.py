"""A sink that keeps rows in a list, and the names that the tests here use."""

from __future__ import annotations

from typing import TypeVar

from penstock.trace.records import Row
from penstock.tracing.names import Names

R = TypeVar("R", bound=Row)

# Publisher 1 of `tests.frames`, and a receiver.
NAMES = Names({1: "writer", 2: "far"})


class ListSink:
    """Collects rows of all tables, or of the given ones only; refuses others, as files do."""

    def __init__(self, *records: type[Row]) -> None:
        self._records = records
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        assert self.collects(type(row)), f"{type(row).__name__} is not collected"
        self.rows.append(row)

    def collects(self, record: type[Row]) -> bool:
        return not self._records or record in self._records

    def of(self, record: type[R]) -> list[R]:
        return [row for row in self.rows if isinstance(row, record)]
