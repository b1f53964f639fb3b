"""A bare `fdatasync`: what a disk asks of anyone who promises that something is on it."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter_ns
from typing import Final

_BLOCK: Final = bytes(4096)
_FILE_BYTES: Final = 4 << 20


def sync_times_ns(directory: Path, syncs: int) -> list[int]:
    """How long each sync of one block took, in a file that has its room already."""
    path = directory / "sync"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(file, bytes(_FILE_BYTES), 0)
        os.fsync(file)
        times_ns = []
        for number in range(syncs):
            os.pwrite(file, _BLOCK, number * len(_BLOCK) % _FILE_BYTES)
            begun_ns = perf_counter_ns()
            os.fdatasync(file)
            times_ns.append(perf_counter_ns() - begun_ns)
        return times_ns
    finally:
        os.close(file)
        path.unlink()
