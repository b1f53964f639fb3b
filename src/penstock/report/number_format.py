"""Formats numbers for readers, with no more digits than are significant."""

from __future__ import annotations

from math import floor, isfinite, log10

from penstock.lab.expectations import ExpectationResult
from penstock.metrics.statistics import Estimate


def format_number(value: float) -> str:
    """Three significant digits, or all digits of integers and of values above 1000."""
    if not isfinite(value):
        return "not known"
    if value == int(value) or abs(value) >= 1000:
        return f"{value or 0:,.0f}"
    if abs(value) < 1e-4:
        return f"{value:.1e}"
    places = 2 - floor(log10(abs(value)))
    text = _decimals(value, places)
    # Trailing zeros are dropped only after a decimal point: 2.30, but not 230.
    return text.rstrip("0").rstrip(".") if places > 0 else text


def format_interval(mean: float, ci95: tuple[float, float] | None) -> str:
    """`mean ± half-width`; the latter has two digits, and the mean as many decimals."""
    half = 0.0 if ci95 is None else (ci95[1] - ci95[0]) / 2
    if not (half > 0 and isfinite(half)):
        return format_number(mean)
    places = max(0, 1 - floor(log10(half)))
    if places > 5:
        return f"{format_number(mean)} ± {half:.1e}"
    return f"{_decimals(mean, places)} ± {_decimals(half, places)}"


def format_estimate(figure: Estimate | None, *, with_unit: bool = False) -> str:
    """One figure with its interval; a dash if there is none."""
    if figure is None:
        return "–"
    unit = f" {figure.unit}" if with_unit and figure.unit else ""
    return format_interval(figure.mean, figure.ci95) + unit


def format_percent(share: float) -> str:
    """A share as a percentage, with more decimals the closer it is to 0 or 100 %."""
    size = abs(share)
    if size in (0, 1):
        return f"{share * 100:.0f} %"
    if size > 1:
        return f"{format_number(share * 100)} %"
    places = 0 if 0.1 <= size <= 0.9 else 1 if 0.005 <= size <= 0.995 else 2
    return f"{share * 100:.{places}f} %"


def format_plain(value: float) -> str:
    """A number from a file, with the digits that were written."""
    return f"{value:,.10g}"


def format_goal(verdict: ExpectationResult) -> str:
    """The goal of an expectation, as `≥ 3` or `1 to 2`."""
    signs = {">=": "≥", "<=": "≤"}
    goal = verdict.goal
    if isinstance(goal, list):
        text = f"{format_plain(goal[0])} to {format_plain(goal[1])}"
    else:
        text = f"{signs.get(verdict.op, verdict.op)} {format_plain(goal)}"
    return text if verdict.ratio_to is None else f"{text} × {verdict.ratio_to}"


def _decimals(value: float, places: int) -> str:
    return f"{value:,.{max(0, places)}f}"
