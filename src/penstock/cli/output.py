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
    typer.echo(json.dumps(document, allow_nan=False))


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
