"""The TCP response function, and loss event rates as receivers compute them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.curve_style import curve_style
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    format_thousands,
    legend_below,
    panels,
    second_midpoints,
)
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# (series of x values, prefix of the curves, axis label, curve label).
_CURVES: Final = (
    ("response_at_p", "response.rtt_", "loss event rate", "round trip {}"),
    ("response_at_rtt_ms", "response.p_", "round trip (ms)", "loss event rate {}"),
)
_EVENTS: Final = (
    ("loss_event_rate.", "loss event rate"),
    ("allowed_rate.", "allowed (messages/s)"),
)


def figures(facts: ReportData) -> list[Figure]:
    """The curves of the formula, and the estimates of receivers with different knowledge."""
    found = []
    for name in facts.names_with_series("response_at_p")[:1]:
        found.append(
            Figure(
                name="response",
                title="What a TCP connection would get, by losses and by round trip",
                caption="Messages a second, by the response function. Logarithmic scale."
                f" {published_values.redrawn_figure(facts.id, 'response')}",
                draw=partial(_response, facts=facts, name=name),
                height_in=3.6,
            )
        )
    for name in [n for n in facts.networks if _named(facts, n, _EVENTS[0][0])][:1]:
        found.append(
            Figure(
                name="loss-events",
                title="Loss events as receivers see them, and the rate they allow",
                caption="Second by second, means over seeds; ideal knows every loss."
                f" {published_values.redrawn_figure(facts.id, 'loss-events')}",
                draw=partial(_events, facts=facts, name=name),
                height_in=4.4,
            )
        )
    return found


def _response(canvas: Canvas, *, facts: ReportData, name: str) -> None:
    frames = panels(canvas, 1, 2, sharey=True)
    for axes, (points, prefix, label, called) in zip(frames, _CURVES, strict=True):
        for index, metric in enumerate(_named(facts, name, prefix)):
            text = called.format(metric.removeprefix(prefix).replace("ms", " ms"))
            axes.plot(facts.series(name, points), facts.series(name, metric), label=text,
                      color=curve_style(index).colour)  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.legend()
        format_thousands(axes.yaxis)
    frames[0].set_ylabel("messages/s")


def _events(canvas: Canvas, *, facts: ReportData, name: str) -> None:
    frames = panels(canvas, len(_EVENTS), sharex=True)
    for axes, (prefix, label) in zip(frames, _EVENTS, strict=True):
        for index, metric in enumerate(_named(facts, name, prefix)):
            values, style = facts.series(name, metric), curve_style(index)
            axes.plot(second_midpoints(values), values, color=style.colour, linewidth=1.2,
                      label=metric.removeprefix(prefix))  # fmt: skip
        axes.set(ylabel=label, ylim=(0, None), xlim=(0, None))
        format_thousands(axes.yaxis)
    frames[-1].set_xlabel("time (s)")
    legend_below(canvas, frames)


def _named(facts: ReportData, name: str, prefix: str) -> list[str]:
    return [m for m in facts.result.series.get(name, {}) if m.startswith(prefix)]
