"""Records of congested runs, and parts of a run merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.metrics.base import AdditiveMetric
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Publication, Row
from tests.metrics.measured import measurement_of


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


def measure_parts(
    parts: Sequence[Sequence[Row]], metric: type[AdditiveMetric[Any]], *, run: RunInfo
) -> Results:
    """Measures parts of a run apart, and reports the sum of their tallies."""
    recorded = {row.TABLE for part in parts for row in part}
    run = replace(run, recorded=frozenset(recorded))
    total = Tally()
    for part in parts:
        (tally,) = measurement_of(part, [metric], run=run).tallies()
        total.merge(tally)
    results = Results(run.id, outputs_of([metric]))
    metric.report(total, run, results)
    return results
