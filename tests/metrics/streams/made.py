"""Samples of guaranteed streams, one at the end of each second."""

from __future__ import annotations

from typing import Any

from penstock.kernel.instant import SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.records import CrossingSample, StreamSample


def run_of(seconds: float, **measure: Any) -> RunInfo:
    return RunInfo(id="test", origin=0, duration=round(seconds * SECOND), measure=measure)


def stream(
    second: int,
    broker: str,
    *,
    published: int = 0,
    wanted: int = 0,
    delivered: int = 0,
    behind_s: float | None = None,
    pubend: str = "PB-1",
) -> StreamSample:
    behind_ns = None if behind_s is None else round(behind_s * SECOND)
    return StreamSample(
        sampled_ns=second * SECOND,
        broker=broker,
        pubend=pubend,
        period_ns=SECOND,
        published_messages=published,
        wanted_messages=wanted,
        delivered_messages=delivered,
        behind_ns=behind_ns,
        nack_window_ns=None,
        is_recovering=False,
    )


def crossing(
    second: int, *, first: int = 0, repair: int = 0, repeat: int = 0, link: str = "PB-IB"
) -> CrossingSample:
    return CrossingSample(second * SECOND, link, "PB-1", first, repair, repeat)
