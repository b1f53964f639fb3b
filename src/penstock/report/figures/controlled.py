"""Helpers of the congestion control figures: variants to compare, bottlenecks and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report.figures.plot_helpers import panels
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_COLUMNS_MAX: Final = 4
_COLUMNS: Final = 3
VARIANTS_MAX: Final = 6
_LINKS_MAX: Final = 2
# A second bottleneck has at least this share of the busiest link's utilisation.
_AS_BUSY: Final = 0.6
_KBPS: Final = "link_kbps."
_CAPACITY: Final = "link_capacity_kbps."


def compared(facts: ReportData) -> list[str]:
    """The first variants, with and without control; none if no variant has control."""
    return facts.networks[:VARIANTS_MAX] if facts.controlled else []


def without_control(facts: ReportData) -> str | None:
    """The first variant without control, the baseline."""
    return next((name for name in facts.networks if not facts.has_control(name)), None)


def bottlenecks(facts: ReportData, names: Sequence[str]) -> list[str]:
    """The busiest link, and another that is nearly as busy; empty without traces."""
    uses: dict[str, float] = {}
    for name in names:
        for metric, kbps in facts.result.series.get(name, {}).items():
            link = metric.removeprefix(_KBPS)
            capacity = np.nansum(facts.series(name, f"{_CAPACITY}{link}"))
            if metric.startswith(_KBPS) and capacity:
                use = float(np.nansum(kbps) / capacity)
                uses[link] = max(use, uses.get(link, 0.0))
    busiest = sorted(uses, key=lambda link: (-uses[link], link))
    return [link for link in busiest if uses[link] >= _AS_BUSY * uses[busiest[0]]][:_LINKS_MAX]


def kbps_of(facts: ReportData, name: str, link: str) -> NDArray[np.float64]:
    """The rate on a link by second; NaN if it was not sampled."""
    return np.array(facts.series(name, f"{_KBPS}{link}"), np.float64)


def capacity_of(facts: ReportData, name: str, link: str) -> NDArray[np.float64]:
    """The capacity of a link by second; NaN if it was not sampled."""
    return np.array(facts.series(name, f"{_CAPACITY}{link}"), np.float64)


def side_by_side(
    canvas: Canvas, names: Sequence[str], rows: int
) -> list[tuple[str, list[Axes]]]:  # fmt: skip
    """A column of axes per variant, with the variants side by side.

    With more than four variants, each three start a new block below.
    """
    columns = _columns(len(names))
    blocks = -(-len(names) // columns)
    frames = panels(canvas, rows * blocks, columns, sharex=True)
    found = []
    for index, name in enumerate(names):
        block, column = divmod(index, columns)
        own = [frames[(block * rows + row) * columns + column] for row in range(rows)]
        own[0].set_title(name, fontsize=9, pad=4)
        own[-1].set_xlabel("time (s)")
        own[-1].tick_params(labelbottom=True)
        found.append((name, own))
    for spare in range(len(names), blocks * columns):
        for row in range(rows):
            frames[((spare // columns) * rows + row) * columns + spare % columns].set_visible(False)
    return found


def one_scale(all_axes: Sequence[Sequence[Axes]]) -> None:
    """One y scale per row, from 0 to its largest value; tick labels only in the first column."""
    for row in range(len(all_axes[0])):
        top = max(own[row].get_ylim()[1] for own in all_axes)
        for index, own in enumerate(all_axes):
            own[row].set_ylim(0, top)
            own[row].set_xlim(0, None)
            if index % _columns(len(all_axes)):
                own[row].tick_params(labelleft=False)
                own[row].set_ylabel("")


def height_of(names: Sequence[str], rows: int, *, each: float = 1.45) -> float:
    """The height in inches of all blocks that the variants take, with `rows` each."""
    return 1.1 + each * rows * -(-len(names) // _columns(len(names)))


def _columns(variants: int) -> int:
    return variants if variants <= _COLUMNS_MAX else _COLUMNS
