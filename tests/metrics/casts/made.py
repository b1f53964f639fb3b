"""Rows of casts, in seconds and with what most tests do not vary."""

from __future__ import annotations

from penstock.kernel.instant import SECOND
from penstock.trace.cast_words import CastKind, CastPart, Direction, Yardstick
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
)


def transfer(
    subscriber: str,
    completed_s: float | None,
    *,
    asked_s: float = 1,
    missed: int = 0,
    bound_s: float = 4,
) -> CastTransfer:
    """A cast of 100 packets, from second 2 to second 6."""
    return CastTransfer(
        subscriber=subscriber,
        publisher="p",
        asked_ns=round(asked_s * SECOND),
        began_ns=2 * SECOND,
        ended_ns=6 * SECOND,
        sent_packets=100,
        missed_packets=missed,
        bound_ns=round(bound_s * SECOND),
        completed_ns=None if completed_s is None else round(completed_s * SECOND),
    )


def crossed(kind: CastKind, packets: int, *, planned: bool = True) -> CastCrossing:
    return CastCrossing("a->b", kind, 1, planned, packets, 1_000 * packets)


def node(
    repair_packets: int, *, part: CastPart = CastPart.ROUTER, filters: int = 0
) -> CastNodeTotal:
    return CastNodeTotal("a", part, filters, repair_packets)


def report(
    part: CastPart, direction: Direction, messages: int, *, kind: CastKind = CastKind.NEEDS
) -> CastReport:
    """Reports of 50 bytes, each of which asks for three packets."""
    return CastReport("a", part, direction, kind, messages, 50 * messages, 3 * messages)


def yardstick(
    word: Yardstick, reports: float | None, repairs: float | None, nodes: float | None
) -> CastYardstick:
    return CastYardstick(word, reports, repairs, nodes)
