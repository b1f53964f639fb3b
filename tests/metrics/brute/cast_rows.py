"""Rows of casts at random, which need not fit together."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from penstock.kernel.instant import SECOND, Instant
from penstock.trace.cast_words import CastKind, CastPart, Direction, Yardstick
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
    Row,
)


class CastRows:
    """Draws rows; receivers and instants are those of the rest of the trace."""

    def __init__(
        self,
        draw: Random,
        subscriber: Callable[[], str],
        publisher: str,
        time: Callable[[], Instant],
    ) -> None:
        self._draw = draw
        self._subscriber, self._publisher, self._time = subscriber, publisher, time
        # Of most traces, all receivers have everything in the end.
        self._fails = draw.choice([0, 0, 0.3])
        self._asks_late = draw.choice([0, 0.5])

    def makers(self) -> dict[type[Row], Callable[[], Row]]:
        """What makes a row of each table."""
        return {
            CastTransfer: self.transfer,
            CastCrossing: self.crossing,
            CastNodeTotal: self.node,
            CastReport: self.report,
            CastYardstick: self.yardstick,
        }

    def transfer(self) -> CastTransfer:
        """Also of nothing, of no time, and of one who has everything before the end."""
        draw = self._draw
        began, ended = self._time(), self._time()
        asked = began + SECOND // 2 if draw.random() < self._asks_late else began - SECOND // 3
        sent = draw.choice([0, 20, 20, 20])
        completed = ended + draw.randrange(-SECOND // 5, SECOND)
        return CastTransfer(
            subscriber=self._subscriber(),
            publisher=self._publisher,
            asked_ns=asked,
            began_ns=began,
            ended_ns=ended,
            sent_packets=sent,
            missed_packets=draw.randrange(sent + 1),
            bound_ns=draw.choice([0, SECOND, 2 * SECOND]),
            completed_ns=None if draw.random() < self._fails else completed,
        )

    def crossing(self) -> CastCrossing:
        draw = self._draw
        packets = draw.randrange(50)
        return CastCrossing(
            link=draw.choice(["a->b", "b->a", "b->c"]),
            kind=draw.choice([*CastKind]),
            generation=draw.randrange(3),
            is_planned=draw.random() < 0.7,
            crossed_packets=packets,
            crossed_bytes=1_000 * packets,
        )

    def node(self) -> CastNodeTotal:
        draw = self._draw
        counts = draw.randrange(3), draw.randrange(40)
        return CastNodeTotal(draw.choice(["a", "b", "c"]), draw.choice([*CastPart]), *counts)

    def report(self) -> CastReport:
        draw, kinds = self._draw, (CastKind.READY, CastKind.NEEDS, CastKind.DONE)
        count = draw.randrange(9)
        return CastReport(
            node=draw.choice(["a", "b", "c"]),
            part=draw.choice([*CastPart]),
            direction=draw.choice([*Direction]),
            kind=draw.choice(kinds),
            reported_messages=count,
            reported_bytes=64 * count,
            reported_packets=draw.randrange(30),
        )

    def yardstick(self) -> CastYardstick:
        """Often unicast, by which the others are divided; it may be known in part, or be 0."""
        draw, words = self._draw, [*Yardstick]
        amounts = [draw.choice([None, 0.0, 12.5, 40.0]) for _ in range(3)]
        return CastYardstick(draw.choice([Yardstick.UNICAST, *words]), *amounts)
