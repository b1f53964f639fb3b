"""Output of commands: JSON for programs, tables for terminals."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, TypeAlias

import typer

# The `--json` option of all commands.
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]


TABLE_COLUMNS_MAX: Final = 100


def print_json(document: object) -> None:
    """Prints one line of ASCII JSON, which no terminal encoding can break."""
    typer.echo(_json_text(document))


def _json_text(document: object) -> str:
    return json.dumps(document, allow_nan=False)


class JsonLines:
    """As `print_json`, for programs whose event loop must not block on a slow reader."""

    def __init__(self) -> None:
        from penstock.cli.line_io import LineWriter

        try:
            self._writer: LineWriter | None = LineWriter(sys.stdout.fileno())
        except (AttributeError, OSError):
            # Standard output is closed or has no descriptor; `typer.echo` handles both.
            self._writer = None

    async def print(self, document: object) -> None:
        """Prints one line; waits while the pipe is full."""
        if self._writer is None:
            print_json(document)
        else:
            await self._writer.write(_json_text(document).encode())

    async def flush(self) -> None:
        """Writes the rest of lines whose printing was cancelled."""
        if self._writer is not None:
            await self._writer.flush()


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table for a terminal; each command writes piped output itself."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    console.width = min(console.width, TABLE_COLUMNS_MAX)
    console.print(table)


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table on a terminal, tab-separated lines otherwise."""
    if on_terminal():
        print_table(headings, rows)
        return
    for row in (headings, *rows):
        typer.echo("\t".join(row))
