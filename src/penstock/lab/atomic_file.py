"""Atomic file writes: a file exists complete or not at all."""

from __future__ import annotations

from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Writes through a temporary file and a rename, and creates the parent directory.

    Neither a concurrent reader nor a killed process leaves or sees a partial file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.unfinished")
    staging.write_bytes(content)
    staging.replace(path)
