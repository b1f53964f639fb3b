"""Curves of the response function, against its vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.lab.metrics.response import Response
from tests.metrics.measured import TEN_SECONDS, measure_rows, series_of, values_of


def test_the_curves_meet_where_they_should() -> None:
    results = measure_rows([], [Response])
    figures = values_of(results)
    assert figures["response.rtt_10ms.p_0.01"] == pytest.approx(1123.322, abs=1e-3)
    assert figures["response.rtt_100ms.p_0.1"] == pytest.approx(17.701, abs=1e-3)
    p_points, rtt_points = (series_of(results, f"response_at_{x}") for x in ("p", "rtt_ms"))
    assert (p_points[0], p_points[-1]) == pytest.approx((0.01, 0.1))
    assert (rtt_points[0], rtt_points[-1]) == pytest.approx((10, 200))
    of_rtt, of_p = (series_of(results, f"response.{x}") for x in ("rtt_10ms", "p_0.1"))
    assert of_rtt[0] == pytest.approx(1123.322, abs=1e-3)
    assert of_p[0] == pytest.approx(of_rtt[-1])
    assert series_of(results, "response.p_0.01")[-1] == pytest.approx(1123.322 / 20, abs=1e-3)


def test_they_fall_alike_whatever_the_round_trip() -> None:
    figures = values_of(measure_rows([], [Response]))
    powers = {name: value for name, value in figures.items() if name.startswith("response_power")}
    assert len(powers) == 4
    assert len({round(power, 9) for power in powers.values()}) == 1
    assert -1.5 < powers["response_power.rtt_10ms"] < -0.5


def test_an_experiment_chooses_the_curves() -> None:
    run = replace(TEN_SECONDS, measure={"response": {"rtts_ms": [11]}})
    results = measure_rows([], [Response], run=run)
    assert set(values_of(results)) == {
        "response_power.rtt_11ms",
        *(f"response.rtt_11ms.p_{p:g}" for p in (0.001, 0.01, 0.1)),
    }
