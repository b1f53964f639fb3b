"""Samples of guaranteed streams, one at the end of each second."""

from __future__ import annotations

from typing import Any

from penstock.kernel.instant import SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.records import CrossingSample, LinkSample, StreamSample


def run_of(seconds: float, **measure: Any) -> RunInfo:
    return RunInfo(id="test", origin=0, duration=round(seconds * SECOND), measure=measure)


def stream(
    second: float,
    broker: str,
    *,
    published: int = 0,
    wanted: int = 0,
    delivered: int = 0,
    behind_s: float | None = None,
    pubend: str = "PB-1",
    window_s: float | None = None,
    recovering: bool = False,
    demanded: int | None = None,
    doubt_rate: float | None = None,
) -> StreamSample:
    behind_ns, window_ns = (
        None if each is None else round(each * SECOND) for each in (behind_s, window_s)
    )
    return StreamSample(
        sampled_ns=round(second * SECOND),
        broker=broker,
        pubend=pubend,
        period_ns=SECOND,
        published_messages=published,
        wanted_messages=wanted,
        delivered_messages=delivered,
        behind_ns=behind_ns,
        nack_window_ns=window_ns,
        is_recovering=recovering,
        demanded_messages=demanded,
        doubt_rate=doubt_rate,
    )


def crossing(
    second: float,
    *,
    first: int = 0,
    repair: int = 0,
    repeat: int = 0,
    link: str = "PB-IB",
    necessary_bytes: int = 0,
) -> CrossingSample:
    return CrossingSample(
        round(second * SECOND), link, "PB-1", first, repair, repeat, necessary_bytes
    )


def link(second: float, *, rate_bps: int | None, name: str = "PB-IB") -> LinkSample:
    return LinkSample(round(second * SECOND), name, SECOND, rate_bps, 0, 0, 0, 0, 0, 0)
