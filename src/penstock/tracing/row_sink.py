"""Where rows go: files, metrics or a list in a test; not known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from penstock.trace.records import Row

AddRow: TypeAlias = Callable[[Row], None]


class RowSink(Protocol):
    """Takes the rows of the tables that it collects."""

    def add(self, row: Row) -> None:
        """Adds a row of a collected table."""

    def collects(self, record: type[Row]) -> bool:
        """Whether such rows are collected: ask once, and make no others."""
