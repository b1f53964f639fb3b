"""The response function of congestion control as curves: what a TCP connection would get.

Looks at nothing that happens in a run. The first curves are over the rate of loss events, one
for each round trip; the others over round trips, one for each rate of loss events. Series
`response_at_p` and `response_at_rtt_ms` say at which points they are.
"""

from __future__ import annotations

from math import log
from typing import ClassVar, Final

import numpy as np

from penstock.lab.metrics.base import Figure, Metric
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.trace.batch import Batch

_POINTS: Final = 96
_P_RANGE: Final = (0.01, 0.1)
_RTT_RANGE_MS: Final = (10.0, 200.0)
# Where it is told how steep curves are.
_STEEP_AT: Final = 0.03
_STEP: Final = 1.001


class Response(Metric):
    """What figure 5.1 of the dissertation shows, in messages a second."""

    TABLES: ClassVar[tuple[str, ...]] = ()

    def take(self, batch: Batch) -> None:
        """There is nothing to be seen."""

    def figures(self) -> dict[str, Figure]:
        """Where the curves meet, and by which power of p each falls [C15]."""
        part = self.context.measure.response
        found = {
            f"response.{_rtt(rtt_ms)}.{_p(p)}": Figure(tcp_throughput(1, rtt_ms / 1_000, p), "/s")
            for rtt_ms in part.rtts_ms
            for p in part.loss_event_rates
        }
        for rtt_ms in part.rtts_ms:
            near, far = (
                tcp_throughput(1, rtt_ms / 1_000, p) for p in (_STEEP_AT, _STEEP_AT * _STEP)
            )
            found[f"response_power.{_rtt(rtt_ms)}"] = Figure(log(far / near) / log(_STEP))
        return found

    def series(self) -> dict[str, list[float]]:
        """The curves, and the points that they are told at."""
        part = self.context.measure.response
        p_points = np.linspace(*_P_RANGE, _POINTS).tolist()
        rtt_points = np.linspace(*_RTT_RANGE_MS, _POINTS).tolist()
        found = {"response_at_p": p_points, "response_at_rtt_ms": rtt_points}
        for rtt_ms in part.rtts_ms:
            found[f"response.{_rtt(rtt_ms)}"] = [
                tcp_throughput(1, rtt_ms / 1_000, p) for p in p_points
            ]
        for p in part.loss_event_rates:
            found[f"response.{_p(p)}"] = [
                tcp_throughput(1, rtt_ms / 1_000, p) for rtt_ms in rtt_points
            ]
        return found


def _rtt(rtt_ms: float) -> str:
    return f"rtt_{rtt_ms:g}ms"


def _p(p: float) -> str:
    return f"p_{p:g}"
