"""Samples of links and queues, one every quarter of a second."""

from __future__ import annotations

from penstock.kernel.instant import SECOND, Instant
from penstock.trace.records import LinkSample, QueueSample

PERIOD = SECOND // 4
# What crosses a link of a megabit in a quarter of a second.
FULL_BYTES = 1_000_000 // 8 // 4


def ended_at(number: int) -> Instant:
    """When the period with this number ends, which is when it is sampled."""
    return (number + 1) * PERIOD


def link(
    number: int,
    sent_bytes: int = 0,
    *,
    name: str = "B1-B2",
    capacity_bps: int | None = 1_000_000,
    packets: int = 0,
    queue_full: int = 0,
    lost: int = 0,
    down: int = 0,
    corrupt: int = 0,
) -> LinkSample:
    at, dropped = ended_at(number), (queue_full, lost, down, corrupt)
    return LinkSample(at, name, PERIOD, capacity_bps, sent_bytes, packets, *dropped)


def queue(
    number: int, held_bytes: int, *, name: str = "B1-B2", peak_bytes: int | None = None
) -> QueueSample:
    return QueueSample(ended_at(number), name, 1, held_bytes, peak_bytes)
