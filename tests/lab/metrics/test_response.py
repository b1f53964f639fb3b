"""Curves of the response function, against its vectors."""

from __future__ import annotations

import pytest

from penstock.lab.metrics.response import Response
from tests.lab.metrics.batches import context, values


def test_the_curves_meet_where_they_should() -> None:
    metric = Response(context())
    figures, series = values(metric.figures()), metric.series()
    assert figures["response.rtt_10ms.p_0.01"] == pytest.approx(1123.322, abs=1e-3)
    assert figures["response.rtt_100ms.p_0.1"] == pytest.approx(17.701, abs=1e-3)
    assert series["response_at_p"][0] == pytest.approx(0.01)
    assert series["response_at_p"][-1] == pytest.approx(0.1)
    assert series["response.rtt_10ms"][0] == pytest.approx(1123.322, abs=1e-3)
    assert series["response.p_0.1"][0] == pytest.approx(series["response.rtt_10ms"][-1])
    assert series["response_at_rtt_ms"][-1] == pytest.approx(200)
    assert series["response.p_0.01"][-1] == pytest.approx(1123.322 / 20, abs=1e-3)


def test_they_fall_alike_whatever_the_round_trip() -> None:
    figures = values(Response(context()).figures())
    powers = {name: value for name, value in figures.items() if name.startswith("response_power")}
    assert len(powers) == 4
    assert len({round(power, 9) for power in powers.values()}) == 1
    assert -1.5 < powers["response_power.rtt_10ms"] < -0.5
