"""Precision and recall of declared losses by match probability and loss, one map per ordering."""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report.curve_style import INK
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import panels
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MAPS: Final = {
    "loss_precision": (
        "declared losses that are losses",
        "Precision: of all losses that were declared, the share that never came.",
    ),
    "loss_recall": (
        "losses that are declared",
        "Recall: of all that never came, the share that was declared. What no record tells of"
        " cannot be declared (equation 4.1).",
    ),
}
_COLUMNS: Final = 5
_PANELS_MAX: Final = 10


def figures(facts: ReportData) -> list[Figure]:
    """Figures if both match probability and loss vary."""
    found = []
    for metric, (short, caption) in _MAPS.items():
        names = [n for n in facts.names_with(metric) if _cell(facts, n) is not None]
        cells = [cell for name in names if (cell := _cell(facts, name)) is not None]
        if len({match for match, _ in cells}) < 2 or len({loss for _, loss in cells}) < 2:
            continue
        orderings = list(dict.fromkeys(str(facts.ordering(name)) for name in names))[:_PANELS_MAX]
        found.append(
            Figure(
                name=metric.replace("_", "-"),
                title=_title(facts, metric, names, short),
                caption=caption,
                draw=partial(_draw, facts=facts, metric=metric, orderings=orderings),
                height_in=0.9 + 2.3 * ceil(len(orderings) / _COLUMNS),
            )
        )
    return found


def _draw(canvas: Canvas, *, facts: ReportData, metric: str, orderings: list[str]) -> None:
    columns = min(_COLUMNS, len(orderings))
    all_axes = panels(canvas, ceil(len(orderings) / columns), columns, sharey=True)
    for axes, ordering in zip(all_axes, orderings, strict=False):
        matches, losses, values = _grid(facts, metric, ordering)
        # Not imshow, which would embed a bitmap in the page.
        axes.pcolormesh(values, vmin=0, vmax=1, cmap="cividis", edgecolor="face")
        for (row, column), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.2f}"
            ink = INK if np.isnan(value) else "black" if value > 0.5 else "white"
            where = (column + 0.5, row + 0.5)
            axes.text(*where, text, ha="center", va="center", fontsize=9, color=ink)
        axes.set_xticks(np.arange(len(losses)) + 0.5, map(_short, losses), fontsize=9)
        axes.set_yticks(np.arange(len(matches)) + 0.5, map(_short, matches), fontsize=9)
        axes.set_ylim(len(matches), 0)
        axes.tick_params(length=0)
        axes.set_title(ordering)
        axes.set_xlabel("loss")
        axes.grid(visible=False)
    for axes in all_axes[len(orderings) :]:
        axes.set_visible(False)
    for axes in all_axes[::columns]:
        axes.set_ylabel("match probability")


def _grid(
    facts: ReportData, metric: str, ordering: str
) -> tuple[list[float], list[float], NDArray[np.float64]]:
    found = {
        cell: estimate.mean
        for name in facts.names
        if str(facts.ordering(name)) == ordering
        and (cell := _cell(facts, name)) is not None
        and (estimate := facts.figure(name, metric)) is not None
    }
    matches = sorted({match for match, _ in found}, reverse=True)
    losses = sorted({loss for _, loss in found})
    rows = [[found.get((match, loss), np.nan) for loss in losses] for match in matches]
    return matches, losses, np.array(rows)


def _cell(facts: ReportData, name: str) -> tuple[float, float] | None:
    match, loss = (facts.parameter(name, f"channel.{key}") for key in ("match", "loss"))
    return None if match is None or loss is None else (float(match), float(loss))


def _short(chance: float) -> str:
    """A probability without its leading zero (.001), because there is little room."""
    return f"{chance:g}".removeprefix("0") or "0"


def _title(facts: ReportData, metric: str, names: list[str], short: str) -> str:
    """The range of the metric for each kind of ordering."""
    text = []
    for kind in ("default", "literal"):
        means = [
            estimate.mean
            for name in names
            if facts.kind(name) == kind and (estimate := facts.figure(name, metric)) is not None
        ]
        if means:
            text.append(f"{kind} {min(means):.2f} to {max(means):.2f}")
    return f"Share of {short}: {', '.join(text)}" if text else f"Share of {short}"
