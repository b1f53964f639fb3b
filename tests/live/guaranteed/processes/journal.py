"""What a program of a test has seen, a JSON object a line, on disk before it goes on.

A killed process leaves at most half a line, at the end of a life: it was not acknowledged.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

_TAIL_BYTES: Final = 1 << 16


def read_journal(path: Path) -> list[dict[str, Any]]:
    """All whole lines, of all lives; a later life begins a line of its own."""
    return _rows(path.read_bytes()) if path.exists() else []


def last_of(path: Path, key: str) -> Any:
    """The last value of a key, or None; only the end of the journal is read."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        values = [row[key] for row in _rows(file.read()) if key in row]
    return values[-1] if values else None


def _rows(data: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


class Journal:
    """Appends to a file; `write` returns when it is on disk."""

    def __init__(self, path: Path) -> None:
        self._fd: Final = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        # Ends the half line of a life that was killed.
        os.write(self._fd, b"\n")

    def write(self, row: dict[str, Any]) -> None:
        """Adds a line."""
        os.write(self._fd, json.dumps(row).encode() + b"\n")
        os.fdatasync(self._fd)
