"""Helpers of the figures of guaranteed streams: variants, hosts and links, and their panels.

A host or a link has one colour in all panels of all figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from penstock.report import published_values
from penstock.report.curve_style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import legend_below, panels, second_midpoints
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Value = TypeVar("Value")

PANELS_MAX: Final = 4
# How far axes go beyond what is drawn.
HEADROOM: Final = 1.08
_COLOURS: Final = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
_HOSTS: Final = "reading_rate."
_QUEUES: Final = "queue_bytes."


def things(facts: ReportData, name: str, prefix: str) -> list[str]:
    """The hosts or links of which a variant has such a series."""
    every = facts.result.series.get(name, {})
    return [metric.removeprefix(prefix) for metric in every if metric.startswith(prefix)]


def variants_with(facts: ReportData, prefix: str) -> list[str]:
    """The first variants that have such a series of anything."""
    return [name for name in facts.names if things(facts, name, prefix)][:PANELS_MAX]


def colours(facts: ReportData, prefix: str) -> dict[str, str]:
    """A colour for each host, or for each link with a queue."""
    named_by = _QUEUES if prefix == _QUEUES else _HOSTS
    found = [
        thing
        for name in facts.names
        for own in (named_by, prefix)
        for thing in things(facts, name, own)
    ]
    known = sorted(dict.fromkeys(found))
    return {thing: _COLOURS[index % len(_COLOURS)] for index, thing in enumerate(known)}


def draw_each(
    axes: Axes,
    facts: ReportData,
    name: str,
    prefix: str,
    *,
    by: float = 1,
    label: Callable[[str], str] = str,
) -> None:
    """The curve of each host or link of a variant; values are divided `by` that."""
    colour_of = colours(facts, prefix)
    for thing in things(facts, name, prefix):
        values = facts.series(name, f"{prefix}{thing}")
        scaled = np.array(values, np.float64) / by
        axes.plot(second_midpoints(values), scaled, color=colour_of[thing], linewidth=1.3,
                  label=label(thing))  # fmt: skip


def published(facts: ReportData, known: Mapping[str, Value]) -> Value | None:
    """The published value for this experiment; None where a profile scales rates or times."""
    for name in facts.names:
        for part in ("rates", "times"):
            if facts.parameter(name, f"streams.scale.{part}") not in (None, 1):
                return None
    return known.get(facts.id)


def stream_figures(
    facts: ReportData,
    names: Sequence[str],
    *,
    name: str,
    title: Callable[[ReportData, Sequence[str]], str],
    caption: str,
    draw: Callable[..., None],
) -> list[Figure]:
    """A figure with a panel for each of these variants, if there is any.

    Its caption ends with what it redraws.
    """
    if not names:
        return []
    return [
        Figure(
            name=name,
            title=title(facts, names),
            caption=f"{caption} {published_values.redrawn_figure(facts.id, name)}",
            draw=partial(draw, facts=facts, names=names),
            height_in=1.2 + 1.9 * len(names),
        )
    ]


def panel_by_variant(
    canvas: Canvas, names: Sequence[str], ylabel: str, draw: Callable[[Axes, str], None]
) -> list[Axes]:
    """Panels one below the other, on one time axis; returns their axes."""
    all_axes = panels(canvas, len(names), sharex=True)
    for axes, name in zip(all_axes, names, strict=True):
        draw(axes, name)
        top = axes.dataLim.ymax
        axes.set(ylabel=ylabel, xlim=(0, None), ylim=(0, HEADROOM * top if top > 0 else None))
        axes.set_title(name if len(names) > 1 else "")
    all_axes[-1].set_xlabel("time (s)")
    canvas.align_ylabels()
    legend_below(canvas, all_axes)
    return all_axes
