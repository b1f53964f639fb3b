"""The response function of congestion control as curves: what a TCP connection would get.

Looks at nothing that happens in a run. Some curves are over the loss event rate, one for each
round-trip time; the others are over the round-trip time, one for each loss event rate.
`response_at_p` and `response_at_rtt_ms` are the points at which they were computed. All of these
are series, although their places are no seconds.
"""

from __future__ import annotations

from math import log
from typing import ClassVar, Final

import msgspec
import numpy as np

from penstock.lab.experiment import ResponsePart
from penstock.metrics.base import Entity, Metric, Output, Window
from penstock.metrics.results import Results
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.trace.batch import Batch

_POINTS: Final = 96
_P_RANGE: Final = (0.01, 0.1)
_RTT_RANGE_MS: Final = (10.0, 200.0)
# Where the steepness of a curve is measured, and over which ratio of loss event rates.
_STEEP_AT: Final = 0.03
_STEP: Final = 1.001


class Response(Metric[Batch]):
    """What figure 5.1 of the dissertation shows, in messages per second."""

    READS: ClassVar = {}
    OUTPUTS: ClassVar = (
        Output(
            name="response",
            unit="/s",
            entity=Entity.SETTING,
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="messages a second of a TCP connection, by round-trip time and loss event rate",
        ),
        Output(
            name="response_power",
            unit="1",
            entity=Entity.SETTING,
            window=Window.RUN,
            meaning="the power of the loss event rate by which the response falls",
        ),
        Output(
            name="response_at_p",
            unit="1",
            kinds=("series",),
            window=Window.RUN,
            meaning="the loss event rates at which curves of one round-trip time were computed",
        ),
        Output(
            name="response_at_rtt_ms",
            unit="ms",
            kinds=("series",),
            window=Window.RUN,
            meaning="the round-trip times at which curves of one loss event rate were computed",
        ),
    )

    def update(self, batch: Batch) -> None:
        """Gets no rows."""

    def finish(self, out: Results) -> None:
        """Reports the curves, where they meet, and how steep each is [C15]."""
        part = msgspec.convert(self.run.measure.get("response", {}), ResponsePart)
        p_points = np.linspace(*_P_RANGE, _POINTS).tolist()
        rtt_points = np.linspace(*_RTT_RANGE_MS, _POINTS).tolist()
        out.add_series("response_at_p", p_points)
        out.add_series("response_at_rtt_ms", rtt_points)
        for rtt_ms in part.rtts_ms:
            name = _rtt(rtt_ms)
            out.add_series("response", [_response(rtt_ms, p) for p in p_points], entity=name)
            out.add_value("response_power", _power(rtt_ms), entity=name)
            for p in part.loss_event_rates:
                out.add_value("response", _response(rtt_ms, p), entity=f"{name}.{_p(p)}")
        for p in part.loss_event_rates:
            curve = [_response(rtt_ms, p) for rtt_ms in rtt_points]
            out.add_series("response", curve, entity=_p(p))


def _response(rtt_ms: float, p: float) -> float:
    return tcp_throughput(1, rtt_ms / 1_000, p)


def _power(rtt_ms: float) -> float:
    near, far = _response(rtt_ms, _STEEP_AT), _response(rtt_ms, _STEEP_AT * _STEP)
    return log(far / near) / log(_STEP)


def _rtt(rtt_ms: float) -> str:
    return f"rtt_{rtt_ms:g}ms"


def _p(p: float) -> str:
    return f"p_{p:g}"
