"""What several figures have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.lab.statistics import Estimate
from penstock.report.curve_style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Single points are shown as long as they do not run into each other.
_MARKERS_MAX: Final = 25
_LEGEND_COLUMNS: Final = 4
# What fits below a figure: letters, and those that a sample of the line takes the place of.
_LEGEND_LETTERS: Final = 94
_SAMPLE_LETTERS: Final = 9
# What the paper states. "Published" would also be what a publisher does.
PUBLISHED: Final = "the paper"


def panels(canvas: Canvas, rows: int, columns: int = 1, **options: Any) -> list[Axes]:
    """Axes below each other, row by row."""
    found = canvas.subplots(rows, columns, squeeze=False, **options)
    return list(np.asarray(found).ravel())


def legend_below(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """One legend for all axes, where it hides nothing."""
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
    """As many as fit; a column is as wide as its longest label."""
    for columns in range(min(_LEGEND_COLUMNS, len(labels)), 1, -1):
        # As Matplotlib fills them: the first ones have one more.
        parts = [[labels[i] for i in part] for part in np.array_split(range(len(labels)), columns)]
        if sum(max(map(len, part)) + _SAMPLE_LETTERS for part in parts) <= _LEGEND_LETTERS:
            return columns
    return 1


def format_thousands(axis: Any) -> None:
    """30,000 and not 3e4."""
    axis.set_major_formatter("{x:,.10g}")


def marker_for(values: Sequence[float], marker: str) -> str:
    """None for long curves."""
    return marker if len(values) <= _MARKERS_MAX else ""


def second_midpoints(values: Sequence[float]) -> NDArray[np.float64]:
    """The middle of each second, which is what a count of it tells of."""
    return np.arange(len(values), dtype=np.float64) + 0.5


def error_bars(estimates: Sequence[Estimate]) -> NDArray[np.float64] | None:
    """Below and above each mean, for error bars; None where there is only one seed."""
    if all(e.ci95 is None for e in estimates):
        return None
    ends = [e.ci95 or (e.mean, e.mean) for e in estimates]
    pairs = zip(estimates, ends, strict=True)
    return np.array([(e.mean - low, high - e.mean) for e, (low, high) in pairs]).T


def reference_line(
    axes: Axes, *, x: float | None = None, y: float | None = None, label: str
) -> None:
    """A line where the paper says it should be."""
    style: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": (0, (4, 3)), "alpha": 0.8}
    if y is not None:
        axes.axhline(y, label=label, **style)
    if x is not None:
        axes.axvline(x, label=label, **style)
