"""Queues of links that guaranteed streams cross, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from penstock.report import published_values
from penstock.report.figure import Figure
from penstock.report.figures.plot_helpers import (
    PUBLISHED,
    format_thousands,
    reference_line,
)
from penstock.report.figures.stream_panels import (
    draw_each,
    panel_by_variant,
    published,
    stream_figures,
    things,
    variants_with,
)
from penstock.report.number_format import format_number
from penstock.report.report_data import ReportData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_HELD: Final = "queue_bytes."
_READING: Final = "reading_rate."
_BYTES_PER_KB: Final = 1_000
# The axis is logarithmic where the longest queue is so many times as long as another one's peak.
_WIDE: Final = 30


def figures(facts: ReportData) -> list[Figure]:
    """One panel for each variant with streams, if a queue ever held anything."""
    names = [name for name in variants_with(facts, _HELD) if things(facts, name, _READING)]
    return stream_figures(
        facts,
        names,
        name="stream-queues",
        title=_title,
        caption="What waits for links, in kB of 1,000 B, means over seeds; links where 1 kB"
        " never waited are left out.",
        draw=_draw,
    )


def _draw(canvas: Canvas, *, facts: ReportData, names: Sequence[str]) -> None:
    peaks = [peak for name in names for peak, _ in _peaks(facts, name)]
    limit_kb = published(facts, published_values.QUEUE_LIMIT_KB)
    is_wide = max(*peaks, limit_kb or 0) > _WIDE * min(peaks)

    def draw(axes: Axes, name: str) -> None:
        draw_each(axes, facts, name, _HELD, by=_BYTES_PER_KB, label=_ends)
        if limit_kb is not None:
            told = f"{PUBLISHED}: below {format_number(limit_kb)} kB"
            reference_line(axes, y=limit_kb, label=told)
        if is_wide:
            axes.set_yscale("symlog", linthresh=1)
        format_thousands(axes.yaxis)

    panel_by_variant(canvas, names, "queue (kB)", draw)


def _ends(link: str) -> str:
    return link.replace("-", " to ")


def _peaks(facts: ReportData, name: str) -> list[tuple[float, str]]:
    """The most that waited for each link, in kB."""
    return [
        (max(facts.series(name, f"{_HELD}{link}")) / _BYTES_PER_KB, link)
        for link in things(facts, name, _HELD)
    ]


def _title(facts: ReportData, names: Sequence[str]) -> str:
    longest = {name: max(_peaks(facts, name)) for name in names}
    found = [
        f"{name} {format_number(round(peak, 1))} kB ({_ends(link)})"
        for name, (peak, link) in longest.items()
    ]
    return f"The longest queue: {', '.join(found)}"
