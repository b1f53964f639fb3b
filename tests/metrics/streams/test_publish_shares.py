"""What publishers get of what they want, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.streams.publish_shares import PublishShares
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of, stream

ROWS = [
    stream(1, "PB", published=30, demanded=40),
    stream(1, "PB", published=10, demanded=40, pubend="PB-2"),
    stream(1, "SB1", wanted=40),
    stream(2, "PB", published=40, demanded=40),
    stream(2, "PB", published=0, demanded=0, pubend="PB-2"),
    stream(3, "PB", published=99, demanded=99),
]


def test_shares_are_of_demand_and_compared_over_pubends() -> None:
    phases = {"early": [0, 1], "late": [1, 2]}
    assert values_of(measure_rows(ROWS, [PublishShares], run=run_of(2, phases=phases))) == {
        "publish_share": pytest.approx(80 / 120),
        "publish_share.early": 0.5,
        "publish_share.late": 1,
        "publish_jain": pytest.approx(80**2 / 2 / (70**2 + 10**2)),
        "publish_jain.early": pytest.approx(0.8),
        "publish_jain.late": 0.5,
    }


def test_where_demand_is_not_known_there_is_nothing() -> None:
    assert not measure_rows([stream(1, "PB", published=30)], [PublishShares]).values
    assert not measure_rows([], [PublishShares], recorded=["streams"]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [PublishShares], run=run_of(2))
    assert measure_parts([ROWS, []], PublishShares, run=run_of(2)).values == whole.values
