"""Arrivals with given delays."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel.instant import MILLISECOND
from penstock.trace.records import Arrival


def delayed(
    delays_ms: Iterable[float],
    pair: tuple[str, str] = ("p-1", "s-1"),
    *,
    brokers: int = 1,
    epoch: int = 0,
    start_ms: int = 0,
) -> list[Arrival]:
    """Messages that a publisher sends to a subscriber every 10 ms."""
    publisher, subscriber = pair
    rows = []
    for seq, delay_ms in enumerate(delays_ms):
        published = (start_ms + 10 * seq) * MILLISECOND
        arrived = published + round(delay_ms * MILLISECOND)
        rows.append(Arrival(subscriber, publisher, epoch, seq, published, arrived, brokers, False))
    return rows


def by_time(rows: Iterable[Arrival]) -> list[Arrival]:
    """The rows in the order of arrival."""
    return sorted(rows, key=lambda row: row.arrived_ns)
