"""Records of congested runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Publication


def run_of(seconds: float, **measure: Any) -> RunInfo:
    return RunInfo(id="test", origin=0, duration=round(seconds * SECOND), measure=measure)


def publication(
    seq: int | None, offered_ms: int, sent_ms: int | None, *, publisher: str = "p-1"
) -> Publication:
    sent = None if sent_ms is None else sent_ms * MILLISECOND
    fate = PublisherFate.SENT if offered_ms == sent_ms else PublisherFate.RATE_LIMITED
    if sent is None:
        fate = PublisherFate.DROPPED_AT_SOURCE
    return Publication(publisher, 0, seq, offered_ms * MILLISECOND, sent, 250, fate, "data", 50)


def arrivals(who: str, rate: int, from_s: int, to_s: int) -> list[Arrival]:
    """As many each second, evenly."""
    times = [from_s * SECOND + i * SECOND // rate for i in range(rate * (to_s - from_s))]
    return [Arrival(who, "p-1", 0, i, at, at, 2, False) for i, at in enumerate(times)]


def by_time(*parts: Sequence[Arrival]) -> list[Arrival]:
    return sorted((row for part in parts for row in part), key=lambda row: row.arrived_ns)
