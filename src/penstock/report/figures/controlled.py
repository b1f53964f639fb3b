"""What the figures of congestion control have in common: whose they are, and side by side."""

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
# A link that is used so much less than the busiest one is no bottleneck beside it.
_AS_BUSY: Final = 0.6
_KBPS: Final = "link_kbps."
_CAPACITY: Final = "link_capacity_kbps."


def compared(facts: ReportData) -> list[str]:
    """Variants with and without control, as many as there is room for; none if none has it."""
    return facts.networks[:VARIANTS_MAX] if facts.controlled else []


def without_control(facts: ReportData) -> str | None:
    """What others are compared with."""
    return next((name for name in facts.networks if not facts.has_control(name)), None)


def bottlenecks(facts: ReportData, names: Sequence[str]) -> list[str]:
    """The busiest link, and another that is nearly as busy; known from traces alone."""
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
    """What a link carried, by second; unknown where it was not sampled."""
    return np.array(facts.series(name, f"{_KBPS}{link}"), np.float64)


def capacity_of(facts: ReportData, name: str, link: str) -> NDArray[np.float64]:
    """What it could have."""
    return np.array(facts.series(name, f"{_CAPACITY}{link}"), np.float64)


def side_by_side(
    canvas: Canvas, names: Sequence[str], rows: int
) -> list[tuple[str, list[Axes]]]:  # fmt: skip
    """Each variant's axes, one above the other; variants beside each other, with one scale a row.

    More than four begin a new block below.
    """
    columns = _columns(len(names))
    blocks = -(-len(names) // columns)
    frames = panels(canvas, rows * blocks, columns, sharex=True)
    found = []
    for place, name in enumerate(names):
        block, column = divmod(place, columns)
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
    """From 0 to what the largest of each row needs; numbers at the left-most only."""
    for row in range(len(all_axes[0])):
        top = max(own[row].get_ylim()[1] for own in all_axes)
        for place, own in enumerate(all_axes):
            own[row].set_ylim(0, top)
            own[row].set_xlim(0, None)
            if place % _columns(len(all_axes)):
                own[row].tick_params(labelleft=False)
                own[row].set_ylabel("")


def height_of(names: Sequence[str], rows: int, *, each: float = 1.45) -> float:
    """Inches for so many rows of as many blocks as variants take."""
    return 1.1 + each * rows * -(-len(names) // _columns(len(names)))


def _columns(variants: int) -> int:
    return variants if variants <= _COLUMNS_MAX else _COLUMNS
