"""What a subscriber answers to FIRST and END: REPORT, part by part."""

from __future__ import annotations

from penstock.bloomcast.segment.missing import Missing
from penstock.bloomcast.segment.report_parts import ReportPart, report_parts
from penstock.bloomcast.subscriber.block_table import BlockTable
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.transfer import RepairChoice


def opening_report(node: int, blocks: BlockTable, *, loss: int) -> list[ReportPart]:
    """Before generation 0: which blocks are needed; what of them is missing follows from it."""
    if not blocks.is_empty:
        return _report(node, blocks, blocks.counted(), Flag.OPENING, loss=loss)
    return _report(node, blocks, Missing(), Flag.OPENING | Flag.ALL, loss=loss)


def missing_report(
    node: int, blocks: BlockTable, repair: RepairChoice, *, loss: int
) -> list[ReportPart]:
    """After a generation: what is missing."""
    return _report(node, blocks, blocks.missing(repair), Flag(0), loss=loss)


def _report(
    node: int, blocks: BlockTable, missing: Missing, flags: Flag, *, loss: int
) -> list[ReportPart]:
    parts = report_parts(
        missing,
        child=node,
        # It waits for nobody.
        hold_100us=0,
        loss=loss,
        done=int(blocks.is_complete),
        total=1,
    )
    return [ReportPart(each, flags | added) for each, added in parts]
