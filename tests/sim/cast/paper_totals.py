"""What the rows of one run of paper 004's world add up to."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sim.cast.paper_world import PaperWorld
from penstock.trace.cast_words import CastKind, CastPart, Direction, Yardstick
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
    Row,
)

FEEDBACK = (CastKind.NEEDS, CastKind.DONE)


@dataclass(frozen=True)
class PaperTotals:
    rows: list[Row]

    @classmethod
    def of(cls, world: PaperWorld) -> PaperTotals:
        assert world.is_over
        return cls(list(world.rows()))

    def transfers(self) -> list[CastTransfer]:
        return [row for row in self.rows if isinstance(row, CastTransfer)]

    def crossings(self, *kinds: CastKind, planned: bool | None = None) -> int:
        return sum(
            row.crossed_packets
            for row in self.rows
            if isinstance(row, CastCrossing)
            and row.kind in kinds
            and planned in (None, row.is_planned)
        )

    @property
    def repair_packets(self) -> int:
        return sum(row.repair_packets for row in self.rows if isinstance(row, CastNodeTotal))

    @property
    def relays(self) -> int:
        rows = [row for row in self.rows if isinstance(row, CastNodeTotal)]
        assert [row.part for row in rows].count(CastPart.PUBLISHER) == 1
        return [row.part for row in rows].count(CastPart.RELAY)

    def reports(self, part: CastPart, direction: Direction) -> tuple[int, int, int]:
        """Messages, bytes, packets."""
        own = [
            row
            for row in self.rows
            if isinstance(row, CastReport)
            and (row.part, row.direction) == (part, direction)
            and row.kind in FEEDBACK
        ]
        return (
            sum(row.reported_messages for row in own),
            sum(row.reported_bytes for row in own),
            sum(row.reported_packets for row in own),
        )

    def yardstick(self, word: Yardstick) -> CastYardstick:
        [row] = [r for r in self.rows if isinstance(r, CastYardstick) and r.yardstick is word]
        return row

    @property
    def time_ns(self) -> int:
        """From the first packet to the last completion."""
        ended = [row.completed_ns for row in self.transfers() if row.completed_ns is not None]
        assert len(ended) == len(self.transfers())
        return max(ended) - self.transfers()[0].began_ns

    @property
    def time_bound_ns(self) -> int:
        return max(row.bound_ns for row in self.transfers())
