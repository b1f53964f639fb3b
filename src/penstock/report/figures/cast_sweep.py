"""Casts over a setting that variants differ in: how long relays hold NAKs, how much paths lose.

Variants of a curve have the same name up to a number, as `loss-5`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report.curve_style import CurveStyle, curve_style
from penstock.report.figure import Figure
from penstock.report.figures.cast_bars import INTERVALS, percent
from penstock.report.figures.plot_helpers import (
    draw_means,
    format_thousands,
    legend_below,
    panels,
    reference_line,
)
from penstock.report.figures.recovered import figure_mean
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData
from penstock.report.sweep import numeric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# How far axes go beyond what is drawn.
_HEADROOM: Final = 1.08
# With fewer values there is no curve.
_VALUES_MIN: Final = 3
# Axes are logarithmic if the ratio of the largest to the smallest value reaches this.
_WIDE: Final = 30
# Setting and variant, in order of the setting.
Curves = Mapping[str, Sequence[tuple[float, str]]]


@dataclass(frozen=True, slots=True)
class _Panel:
    metric: str
    label: str
    # What a bound is called, and where it is or which metric says so.
    bound: str
    at: float | str


@dataclass(frozen=True, slots=True)
class _Setting:
    name: str
    parameter: str
    label: str
    panels: tuple[_Panel, ...]


_TIME: Final = _Panel("cast_time_over_bound", "time over its bound", "bound", 1)
_SETTINGS: Final = (
    _Setting(
        "cast-hold",
        "casts.hold_s",
        "how long relays hold NAKs (s)",
        (
            _Panel("aggregation.messages", "aggregation", "bound: nothing comes through", 1),
            _Panel("cast_time", "time (s)", "bound", "cast_time_bound"),
        ),
    ),
    _Setting(
        "cast-loss",
        "casts.loss.path",
        "share that is lost on the way to a receiver",
        (
            _TIME,
            _Panel(
                "repairs_of_unicast",
                "repairs, of unicast",
                "bound: only the publisher has the object",
                "yardstick_repairs.publisher_only",
            ),
        ),
    ),
)


def figures(facts: ReportData) -> list[Figure]:
    """A figure for each setting that has a curve."""
    found = []
    for every in _SETTINGS:
        curves = _curves(facts, every)
        setting = replace(every, panels=_measured(facts, every, curves))
        if curves:
            found.append(
                Figure(
                    name=setting.name,
                    title=_title(facts, setting, curves),
                    caption=f"{INTERVALS} Dashed is the bound.",
                    draw=partial(_draw, facts=facts, setting=setting, curves=curves),
                    height_in=1.2 + 2.0 * len(setting.panels),
                )
            )
    return found


def _curves(facts: ReportData, setting: _Setting) -> Curves:
    """Variants by the part of their names before the number, if the setting varies anywhere."""
    found: dict[str, list[tuple[float, str]]] = {}
    for name in facts.networks:
        family, _, number = name.rpartition("-")
        value = facts.parameter(name, setting.parameter)
        measured = any(facts.figure(name, panel.metric) for panel in setting.panels)
        if family and numeric(number) is not None and value is not None and measured:
            found.setdefault(family, []).append((float(value), name))
    longest = max((len({value for value, _ in own}) for own in found.values()), default=0)
    if longest < _VALUES_MIN:
        return {}
    return {family: sorted(own) for family, own in found.items()}


def _measured(facts: ReportData, setting: _Setting, curves: Curves) -> tuple[_Panel, ...]:
    """The panels that have something to show."""
    names = [name for own in curves.values() for _, name in own]
    return tuple(p for p in setting.panels if any(facts.figure(name, p.metric) for name in names))


def _draw(canvas: Canvas, *, facts: ReportData, setting: _Setting, curves: Curves) -> None:
    all_axes = panels(canvas, len(setting.panels), sharex=True)
    for axes, panel in zip(all_axes, setting.panels, strict=True):
        shown = []
        for index, (family, own) in enumerate(curves.items()):
            shown += _draw_curve(axes, facts, panel, curve_style(index), family, own)
        if isinstance(panel.at, int | float):
            reference_line(axes, y=panel.at, label=panel.bound)
            shown.append(panel.at)
        # Intervals may go beyond.
        axes.set(ylabel=panel.label, ylim=(min(0, *shown), _HEADROOM * max(shown)))
        format_thousands(axes.yaxis)
    values = [value for own in curves.values() for value, _ in own]
    if min(values) > 0 and max(values) >= _WIDE * min(values):
        all_axes[0].set_xscale("log")
    format_thousands(all_axes[-1].xaxis)
    all_axes[-1].set_xlabel(setting.label)
    canvas.align_ylabels()
    legend_below(canvas, all_axes)


def _draw_curve(
    axes: Axes,
    facts: ReportData,
    panel: _Panel,
    style: CurveStyle,
    family: str,
    own: Sequence[tuple[float, str]],
) -> list[float]:
    """Draws a curve, and its bound if that varies too; returns the means that it shows."""
    points = [(value, e) for value, name in own if (e := facts.figure(name, panel.metric))]
    if points:
        draw_means(axes, points, style, family)
    bounds = [
        (value, mean)
        for value, name in own
        if isinstance(panel.at, str) and (mean := figure_mean(facts, name, panel.at)) is not None
    ]
    if bounds:
        # With a mark, for a bound of one point would be no line.
        axes.plot(*zip(*bounds, strict=True), color=style.colour, linestyle="--", marker="_",
                  label=f"{panel.bound} ({family})")  # fmt: skip
    return [*(estimate.mean for _, estimate in points), *(mean for _, mean in bounds)]


def _title(facts: ReportData, setting: _Setting, curves: Curves) -> str:
    """The first panel at both ends of the longest curve."""
    panel = setting.panels[0]
    family = max(curves, key=lambda each: len(curves[each]))
    known = [
        (value, mean)
        for value, name in curves[family]
        if (mean := figure_mean(facts, name, panel.metric)) is not None
    ]
    if not known:
        return f"{panel.label.capitalize()}: {setting.label}"
    say = percent if panel.metric.startswith("aggregation") else format_number
    told = " and ".join(f"{say(mean)} at {value:g}" for value, mean in (known[0], known[-1]))
    return f"{panel.label.capitalize()} of {family}: {told}"
