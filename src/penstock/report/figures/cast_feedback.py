"""Reports of casts beside NAKs of unicast recovery and of PGM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from penstock.report import published_values
from penstock.report.curve_style import GREEN, SKY
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

_PGM: Final = "yardstick_feedback.pgm"
_MARKS: Final = (
    Mark(_PGM, "PGM: NAKs and their confirmations"),
    Mark("yardstick_feedback.exact_bitmaps", "reports with exact bitmaps", (0, (1, 1))),
)
_BARS: Final = (
    Bar(metric="needs_of_unicast", label="needs only", colour=GREEN, marks=_MARKS),
    Bar(metric="feedback_of_unicast", label="needs and done", colour=SKY, marks=_MARKS),
)


def figures(facts: ReportData) -> list[Figure]:
    """One figure, where reports were compared with unicast's NAKs."""
    names = compared(facts, _BARS[0].metric)
    if not names:
        return []
    return [
        Figure(
            name="cast-feedback",
            title=_title(facts, names),
            caption="Reports times links that they cross, false crossings included, by NAKs of"
            " unicast recovery times links: those that say what is needed, and with them those that"
            " say that nothing is. Lines are what others would send for the same losses."
            f" {INTERVALS}"
            f" {published_values.redrawn_figure(facts.id, 'cast-feedback')}",
            draw=partial(
                draw_of_unicast,
                facts=facts,
                names=names,
                bars=_BARS,
                published=published_values.CAST_FEEDBACK,
            ),
            height_in=height_of(names, _BARS),
        )
    ]


def _title(facts: ReportData, names: Sequence[str]) -> str:
    name = main_variant(names)
    needs, pgm = (figure_mean(facts, name, metric) for metric in (_BARS[0].metric, _PGM))
    beside_it = "" if pgm is None else f", PGM's {percent(pgm)}"
    return f"Needs of {name} cross {percent(needs or 0)} as many links as unicast's NAKs{beside_it}"
