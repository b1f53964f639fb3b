"""What commands print: JSON for programs, tables for terminals."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias

import typer

# The option all commands share.
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]


def print_json(document: object) -> None:
    """One line that any JSON reader takes, whatever the terminal's encoding."""
    typer.echo(_written(document))


def _written(document: object) -> str:
    return json.dumps(document, allow_nan=False)


class JsonLines:
    """As `print_json`, line by line, for a program whose loop must go on while nobody reads."""

    def __init__(self) -> None:
        from penstock.cli.line_io import LineWriter

        try:
            self._writer: LineWriter | None = LineWriter(sys.stdout.fileno())
        except (AttributeError, OSError):
            # It was closed, or is no file: `typer` knows what to do.
            self._writer = None

    async def print(self, document: object) -> None:
        """One more line; waits while there is no room for it."""
        if self._writer is None:
            print_json(document)
        else:
            await self._writer.write(_written(document).encode())

    async def flush(self) -> None:
        """What was begun before somebody was stopped."""
        if self._writer is not None:
            await self._writer.flush()


def on_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table for a terminal; piped output is for each command to write, plainly."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people; for pipes, tabs."""
    if on_terminal():
        print_table(headings, rows)
        return
    for row in (headings, *rows):
        typer.echo("\t".join(row))
