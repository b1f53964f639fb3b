"""Helpers that several figures share: panels, legends, ticks, error bars, reference lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.statistics import Estimate
from penstock.report.curve_style import INK, CurveStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Curves with more points have no markers, which would overlap.
_MARKERS_MAX: Final = 25
_LEGEND_COLUMNS: Final = 4
# The width of a legend below a figure, and of a line sample in it, in characters.
_LEGEND_LETTERS: Final = 94
_SAMPLE_LETTERS: Final = 9
# Label of published values; "published" could also mean sent by a publisher.
PUBLISHED: Final = "the paper"


def panels(canvas: Canvas, rows: int, columns: int = 1, **options: Any) -> list[Axes]:
    """Axes of a grid as a flat list, row by row."""
    found = canvas.subplots(rows, columns, squeeze=False, **options)
    return list(np.asarray(found).ravel())


def legend_below(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """One legend for all axes, below the figure."""
    entries: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        canvas.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=_columns(list(entries)),
        )


def _columns(labels: Sequence[str]) -> int:
    """The number of legend columns that fit; a column is as wide as its longest label."""
    for columns in range(min(_LEGEND_COLUMNS, len(labels)), 1, -1):
        # Split as Matplotlib does: the first columns have one entry more.
        parts = [[labels[i] for i in part] for part in np.array_split(range(len(labels)), columns)]
        if sum(max(map(len, part)) + _SAMPLE_LETTERS for part in parts) <= _LEGEND_LETTERS:
            return columns
    return 1


def format_thousands(axis: Any) -> None:
    """Formats ticks as 30,000, not as 3e4."""
    axis.set_major_formatter("{x:,.10g}")


def marker_for(values: Sequence[float], marker: str) -> str:
    """The marker for a curve; no marker for long curves."""
    return marker if len(values) <= _MARKERS_MAX else ""


def second_midpoints(values: Sequence[float]) -> NDArray[np.float64]:
    """The middle of each second, where its count is drawn."""
    return np.arange(len(values), dtype=np.float64) + 0.5


def error_bars(estimates: Sequence[Estimate]) -> NDArray[np.float64] | None:
    """Distances below and above each mean; None with only one seed."""
    if all(e.ci95 is None for e in estimates):
        return None
    ends = [e.ci95 or (e.mean, e.mean) for e in estimates]
    pairs = zip(estimates, ends, strict=True)
    return np.array([(e.mean - low, high - e.mean) for e, (low, high) in pairs]).T


def draw_means(
    axes: Axes, points: Sequence[tuple[float, Estimate]], style: CurveStyle, label: str
) -> None:
    """A curve through means, with their intervals."""
    axes.errorbar(
        [x for x, _ in points],
        [estimate.mean for _, estimate in points],
        yerr=error_bars([estimate for _, estimate in points]),
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        elinewidth=1,
        capsize=3,
        label=label,
    )


def reference_line(
    axes: Axes, *, x: float | None = None, y: float | None = None, label: str
) -> None:
    """A line at a published value."""
    style: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": (0, (4, 3)), "alpha": 0.8}
    if y is not None:
        axes.axhline(y, label=label, **style)
    if x is not None:
        axes.axvline(x, label=label, **style)
