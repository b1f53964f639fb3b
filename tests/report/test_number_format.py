"""Numbers as people read them."""

from __future__ import annotations

import pytest

from penstock.lab.expectations import ExpectationResult
from penstock.report.number_format import (
    format_goal,
    format_interval,
    format_number,
    format_percent,
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (-0.0, "0"),
        (12345.6, "12,346"),
        (2.5, "2.5"),
        (229.5, "230"),
        (99.96, "100"),
        (0.9999, "1"),
        (0.034567, "0.0346"),
        (0.00001234, "1.2e-05"),
        (float("nan"), "not known"),
        (float("inf"), "not known"),
    ],
)
def test_no_more_digits_than_one_reads(value: float, said: str) -> None:
    assert format_number(value) == said


@pytest.mark.parametrize(
    ("mean", "ci95", "said"),
    [
        (1234.567, (1200.0, 1269.134), "1,235 ± 35"),
        (0.98761, (0.98, 0.9953), "0.9876 ± 0.0076"),
        (5.0, None, "5"),
        (5.0, (5.0, 5.0), "5"),
        (0.5, (0.49999999, 0.50000001), "0.5 ± 1.0e-08"),
    ],
)
def test_a_mean_has_the_decimals_of_its_interval(
    mean: float, ci95: tuple[float, float] | None, said: str
) -> None:
    assert format_interval(mean, ci95) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.5, "50 %"),
        (0.03, "3.0 %"),
        (0.9987, "99.87 %"),
        (-0.5, "-50 %"),
        (3.186, "319 %"),
    ],
)
def test_nearly_all_is_not_all(share: float, said: str) -> None:
    assert format_percent(share) == said


def test_a_goal_is_said_as_it_was_written() -> None:
    verdict = ExpectationResult("m", "v", "<=", 0.5, None, None, None, False, ratio_to="off")
    assert format_goal(verdict) == "≤ 0.5 × off"
    assert format_goal(
        ExpectationResult("m", "v", "between", [20_000, 27_000], None, None, None, False)
    ) == ("20,000 to 27,000")
