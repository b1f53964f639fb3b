"""Ticks of which nothing was ever said: from the lease that was found to the first of a life.

They betray a restored backup: whoever has read within one has seen what the log no longer holds.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.wire.frames.guaranteed.base import DEAD_RANGES_MAX, TickRange

_KEY: Final = "dead_ranges"


def dead_ranges_at_start(
    disk: Disk, log: str, saved: dict[str, bytes], *, lease: int, first_tick: int
) -> tuple[TickRange, ...]:
    """Those of earlier lives, with the one before this life if there was any."""
    stored = saved.get(_KEY)
    ranges = (
        []
        if stored is None
        else [TickRange(*r) for r in msgspec.msgpack.decode(stored, type=list[tuple[int, int]])]
    )
    if lease:
        ranges = [*ranges, TickRange(lease + 1, first_tick)][-DEAD_RANGES_MAX:]
        disk.save(f"pubend/{log}/{_KEY}", msgspec.msgpack.encode([tuple(r) for r in ranges]))
    return tuple(ranges)


def delete_dead_ranges(disk: Disk, log: str) -> None:
    """The stream is deleted."""
    disk.save(f"pubend/{log}/{_KEY}", None)
