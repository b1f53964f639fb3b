"""Repairs of casts beside those of unicast recovery, and the least that any protocol could send."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from penstock.report import published_values
from penstock.report.curve_style import BLUE, ORANGE
from penstock.report.figure import Figure
from penstock.report.figures.cast_bars import (
    INTERVALS,
    Bar,
    Mark,
    compared,
    draw_of_unicast,
    height_of,
    main_variant,
    percent,
)
from penstock.report.figures.recovered import figure_mean
from penstock.report.report_data import ReportData

_BOUNDS: Final = (
    ("publisher_only", "bound: only the publisher has the object", "-"),
    ("caches", "bound: every node keeps what it received", (0, (1, 1))),
)
_BARS: Final = tuple(
    Bar(
        metric=metric,
        label=label,
        colour=colour,
        marks=tuple(Mark(f"{yardstick}.{word}", told, line) for word, told, line in _BOUNDS),
    )
    for metric, yardstick, label, colour in (
        ("repairs_of_unicast", "yardstick_repairs", "links that repairs cross", BLUE),
        ("repair_nodes_of_unicast", "yardstick_nodes", "nodes that send repairs", ORANGE),
    )
)
# Of the published values.
_COUNTED: Final = (
    " The paper counts what network elements send, but does not say whether a packet that leaves by"
    " several links counts once."
)


def figures(facts: ReportData) -> list[Figure]:
    """One figure, where repairs were compared with unicast's."""
    names = compared(facts, _BARS[0].metric)
    if not names:
        return []
    return [
        Figure(
            name="cast-repairs",
            title=_title(facts, names),
            caption="Repair packets times links that they cross, false crossings included, and"
            " times nodes that send them, each by the same of unicast recovery. Bounds are those"
            f" of the same variant, and hold for means over seeds. {INTERVALS}"
            f"{_COUNTED * (facts.id in published_values.CAST_REPAIRS)}"
            f" {published_values.redrawn_figure(facts.id, 'cast-repairs')}",
            draw=partial(
                draw_of_unicast,
                facts=facts,
                names=names,
                bars=_BARS,
                published=published_values.CAST_REPAIRS,
            ),
            height_in=height_of(names, _BARS),
        )
    ]


def _title(facts: ReportData, names: Sequence[str]) -> str:
    name = main_variant(names)
    links = figure_mean(facts, name, _BARS[0].metric) or 0.0
    bound = figure_mean(facts, name, "yardstick_repairs.publisher_only")
    at_least = "" if bound is None else f"; the bound is {percent(bound)}"
    return f"Repairs of {name} cross {percent(links)} as many links as unicast's{at_least}"
