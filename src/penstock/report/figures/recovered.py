"""Helpers of the recovery figures: variants to compare, smoothing, delay distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.report.curve_style import CurveStyle
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KNOWN: Final = {"p50": 0.5, "p80": 0.8, "p99": 0.99}
_POINTS_MAX: Final = 60
VARIANTS_MAX: Final = 6

Value = TypeVar("Value")


def networks(facts: ReportData) -> list[str]:
    """Variants that were measured for recovery, whether they have it or not."""
    return [name for name in facts.networks if facts.never_delivered(name) is not None]


def recovering(facts: ReportData) -> list[str]:
    """The first of these variants that use recovery."""
    return [name for name in networks(facts) if name != without(facts)][:VARIANTS_MAX]


def without(facts: ReportData) -> str | None:
    """The variant without recovery, the baseline."""
    kinds = {name: facts.parameter(name, "transport.recovery.kind") for name in networks(facts)}
    return next((name for name, kind in kinds.items() if kind == "off"), None)


def stated(facts: ReportData, name: str, known: Mapping[str, Mapping[int, Value]]) -> Value | None:
    """The published value for a network with as many brokers as this variant has."""
    brokers = facts.parameter(name, "network.topology.size")
    return known.get(facts.id, {}).get(brokers)


def smooth(values: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and means of equal intervals, at most 119: single seconds are too noisy."""
    step = max(1, len(values) // _POINTS_MAX)
    groups = np.array(values[: len(values) // step * step], np.float64).reshape(-1, step)
    times = (np.arange(len(groups), dtype=np.float64) + 0.5) * step
    return times, np.asarray(groups.mean(axis=1))


def cumulative(
    axes: Axes,
    facts: ReportData,
    name: str,
    metric: str,
    style: CurveStyle,
    label: str,
    *,
    more_ms: float = 0,
) -> bool:
    """Draws a distribution: complete with traces, otherwise the quantiles of the result."""
    histogram = facts.histogram(name, metric)
    drawn_as: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "label": label}
    counts = np.array(() if histogram is None else histogram.counts, np.int64)
    if histogram is not None and counts.any():
        nonzero = np.flatnonzero(counts)
        x = np.array(histogram.edges)[nonzero + 1] + more_ms
        axes.plot(x, np.cumsum(counts[nonzero]) / counts.sum(), **drawn_as)
        return True
    points = [
        (found.mean + more_ms, share)
        for label_, share in _KNOWN.items()
        if (found := facts.figure(name, f"{metric}_{label_}")) is not None
    ]
    if points:
        axes.plot(*zip(*points, strict=True), marker=style.marker, **drawn_as)
    return bool(points)


def is_whole(facts: ReportData, names: Sequence[str], metric: str) -> str:
    """A sentence for the caption if only quantiles are known, otherwise empty."""
    if any(facts.histogram(name, metric) for name in names):
        return ""
    return "Points are measured (50, 80 and 99 %); traces would tell what lies between them."


def beside(axes: Axes, rows: Sequence[float], words: Sequence[str]) -> None:
    """Draws labels to the right of all bars, where no line crosses them."""
    for row, text in zip(rows, words, strict=True):
        axes.annotate(
            text, (1, row), xycoords=axes.get_yaxis_transform(), xytext=(4, 0), va="center",
            textcoords="offset points", fontsize=9, annotation_clip=False,
        )  # fmt: skip


def means_of(
    facts: ReportData, names: Sequence[str], metric: str, say: Callable[[float], str]
) -> str:
    """The mean of each variant that has one, for a title; empty if none has."""
    known = {name: figure_mean(facts, name, metric) for name in names}
    return ", ".join(f"{name} {say(mean)}" for name, mean in known.items() if mean is not None)


def figure_mean(facts: ReportData, name: str, metric: str) -> float | None:
    """The mean of a figure; None if it was not measured."""
    found = facts.figure(name, metric)
    return None if found is None else found.mean
