"""Reads a network from CSV: one row for each link, sender and receiver, marked by `kind`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any, Final

from penstock.fairness.json_network import EDGE, from_document
from penstock.fairness.network import Network
from penstock.kernel.errors import UsageError

# Required cells of each kind; those of EDGE are optional, and no others are allowed.
KINDS: Final = {
    "link": ("from", "to"),
    "sender": ("session", "host"),
    "receiver": ("session", "id", "host", "join", "leave", "data"),
}
COLUMNS: Final = ("kind", *dict.fromkeys(name for cells in KINDS.values() for name in cells), *EDGE)
NUMBERS: Final = ("join", "leave", "data", *EDGE)


def from_table(text: str) -> Network:
    """Builds a network from CSV text; columns in any order, empty cells for absent values."""
    links: list[dict[str, Any]] = []
    sessions: dict[str, dict[str, Any]] = {}
    for line, row in _rows(text):
        kind, cells = _checked(line, row)
        if kind == "link":
            links.append(cells)
            continue
        name = cells.pop("session")
        session = sessions.setdefault(name, {"id": name, "receivers": []})
        if kind == "receiver":
            session["receivers"].append(cells)
        elif "sender" in session:
            raise UsageError(f"line {line}: session {name!r} has a sender already: leave out one")
        else:
            session["sender"] = cells
    for name, session in sessions.items():
        if "sender" not in session:
            raise UsageError(f"session {name!r} has no sender: add a row of that kind")
    return from_document({"links": links, "sessions": list(sessions.values())})


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row with its line number; empty cells are left out."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header)
        for cells in reader:
            if len(cells) > len(header) and any(cells[len(header) :]):
                raise UsageError(f"line {reader.line_num} has more cells than there are columns")
            row = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
            if any(row.values()):
                yield reader.line_num, {name: cell for name, cell in row.items() if cell}
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num} is no CSV: {error}") from None


def _check_header(header: list[str]) -> None:
    known = f"columns are {', '.join(COLUMNS)}"
    if "kind" not in header:
        raise UsageError(f"neither JSON nor CSV: a CSV file begins with a line of names; {known}")
    for name in header:
        if name not in COLUMNS:
            raise UsageError(f"column {name[:40]!r} means nothing here; {known}")
    if len(set(header)) < len(header):
        raise UsageError("a column is there twice: leave one out")


def _checked(line: int, row: dict[str, str]) -> tuple[str, dict[str, Any]]:
    kind = row.pop("kind", "")
    if kind not in KINDS:
        raise UsageError(f"line {line}: a kind is {', '.join(KINDS)}, not {kind[:40]!r}")
    for name in KINDS[kind]:
        if name not in row:
            raise UsageError(f"line {line}: a {kind} needs its {name}")
    for name in row:
        if name not in KINDS[kind] and name not in EDGE:
            raise UsageError(f"line {line}: a {kind} has no {name}: leave that cell empty")
    return kind, {name: _value(line, name, cell) for name, cell in row.items()}


def _value(line: int, name: str, cell: str) -> str | float:
    if name not in NUMBERS:
        return cell
    try:
        return float(cell)
    except ValueError:
        raise UsageError(f"line {line}: {name} is a number, not {cell[:40]!r}") from None
