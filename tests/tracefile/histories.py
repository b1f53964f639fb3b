"""Traces made by hand: p3 at B1, s1 at B1 too, then B2 with s2 behind B3 and s3 behind B4."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.kernel.instant import MILLISECOND as MS
from penstock.trace.fates import DropReason, HopDecision, PublisherFate, ReceiverFate
from penstock.trace.records import (
    Arrival,
    Delivery,
    Drop,
    Expected,
    Hop,
    Publication,
    Row,
)
from penstock.trace.schema import EVENTS
from penstock.tracefile.retention import Recording
from tests.tracefile.test_round_trip import RUN

SUBSCRIBERS = ("s1", "s2", "s3")
# The brokers that a copy crosses, and those that it is handed to there.
TREE = {
    "B1": (("s1",), ("B2",)),
    "B2": ((), ("B3", "B4")),
    "B3": (("s2",), ()),
    "B4": (("s3",), ()),
}


def keep(
    directory: Path, rows: Iterable[Row], run: str = "a", *, without: tuple[str, ...] = ()
) -> Path:
    """Writes a run; rows are put in the order of their times."""
    kept = [row for row in rows if row.TABLE not in without]
    kept.sort(key=lambda row: (row.TIME is None, getattr(row, row.TIME or "", None) or 0))
    tables = [table for table in EVENTS if table.name not in without]
    with Recording(run, keep=directory, tables=tables) as recording:
        for row in kept:
            recording.add(row)
        recording.finish(RUN)
    return directory


def life_of(seq: int, *, epoch: int = 0, lost_at: str = "", lost_for: str = "loss") -> list[Row]:
    """A message to all three; with `lost_at` (B2-B3, or B4-s3) a copy is dropped there."""
    at = seq * 100 * MS
    rows: list[Row] = [
        Publication("p3", epoch, seq, at - MS, at, 210, PublisherFate.SENT, "data"),
        *(Expected("p3", epoch, seq, name, at) for name in SUBSCRIBERS),
        Hop(at + MS, "B1", "p3", epoch, seq, HopDecision.ENTERED),
    ]
    packet = (1, 0, seq)
    ahead = [("B1", at + MS)]
    while ahead:
        broker, now = ahead.pop(0)
        clients, brokers = TREE[broker]
        handed = [(HopDecision.HANDED_OVER, name) for name in clients]
        sent = [(HopDecision.FORWARDED, name) for name in brokers]
        for decision, towards in handed + sent:
            # The first broker serves its own clients before there is a packet.
            own = () if broker == "B1" and decision is HopDecision.HANDED_OVER else packet
            rows.append(Hop(now, broker, "p3", epoch, seq, decision, towards, None, *own))
            place = f"{broker}-{towards}"
            if place == lost_at:
                reason = DropReason(lost_for)
                rows.append(
                    Drop(now + MS, place, reason, "data", 230, *packet, "p3", epoch, seq)
                    if own
                    else Drop(
                        now + MS, place, reason, "data", 230, None, None, None, "p3", epoch, seq
                    )
                )
            elif decision is HopDecision.FORWARDED:
                ahead.append((towards, now + MS))
            else:
                rows += received(towards, seq, at, now + MS, epoch=epoch)
    return rows


def received(name: str, seq: int, at: int, arrived: int, *, epoch: int = 0) -> list[Row]:
    """It came to a subscriber, and was delivered at once."""
    return [
        Arrival(name, "p3", epoch, seq, at, arrived, 3, False),
        Delivery(
            "default", name, "p3", epoch, seq, at, arrived, arrived, None, ReceiverFate.DELIVERED
        ),
    ]


def without_life(rows: list[Row], seq: int, *tables: str) -> list[Row]:
    """The rows without those that these tables have of one message."""
    return [row for row in rows if row.TABLE not in tables or getattr(row, "seq", None) != seq]
