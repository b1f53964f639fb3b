"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Makes the directory too; a reader, and whoever is killed, never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.unfinished")
    staging.write_bytes(content)
    staging.replace(path)
