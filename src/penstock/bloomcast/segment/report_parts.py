"""Cuts what is needed into the parts of a report."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from penstock.wire.frames.cast.base import FAILED_MAX, NEEDS_MAX, REPORT_PARTS_MAX
from penstock.wire.frames.cast.report import BlockNeed, Report


def report_parts(
    needs: Mapping[int, int],
    *,
    child: int,
    hold_100us: int,
    loss: int,
    done: int,
    total: int,
    failed: tuple[int, ...] = (),
) -> list[Report]:
    """One report in as many frames as it takes; blocks that do not fit wait for the next END."""
    rows = [
        BlockNeed(block, need)
        for block, need in islice(sorted(needs.items()), NEEDS_MAX * REPORT_PARTS_MAX)
    ]
    parts = max(1, -(-len(rows) // NEEDS_MAX))
    return [
        Report(
            child=child,
            part=part,
            parts=parts,
            hold_100us=hold_100us,
            loss=min(loss, 0xFFFF),
            done=done,
            total=total,
            failed=failed[:FAILED_MAX],
            needs=tuple(rows[part * NEEDS_MAX : (part + 1) * NEEDS_MAX]),
        )
        for part in range(parts)
    ]
