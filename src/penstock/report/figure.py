"""The figure as a value, and its rendering to SVG, PNG and PDF.

Does not know what is drawn. Output is deterministic: no dates, no random
identifiers. Matplotlib is loaded when the first figure is drawn, and used without
its global state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, Final

from penstock.kernel.errors import UsageError
from penstock.report.curve_style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

WIDTH_IN: Final = 7.4
_PNG_DPI: Final = 150
_STYLE: Final[dict[str, Any]] = {
    "svg.hashsalt": "penstock",
    # Text stays text, so that it can be searched, copied and read by screen readers.
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 2.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "axes.formatter.useoffset": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color",
         "grid.color", "legend.labelcolor"),
        INK,
    ),
}  # fmt: skip
_ID: Final = re.compile(r'\bid="([^"]+)"')
_REFERENCE: Final = re.compile(r'(url\(#|href="#)([^")]+)')


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure to draw; `name` is the stem of its files, `title` says what it shows."""

    name: str
    title: str
    draw: Callable[[Canvas], None]
    caption: str = ""
    height_in: float = 3.8


@contextmanager
def rendered(figure: Figure) -> Iterator[Canvas]:
    """Draws the figure on its own canvas, which is valid inside the context."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_STYLE):
        canvas = matplotlib.figure.Figure(
            figsize=(WIDTH_IN, figure.height_in), layout="constrained"
        )
        figure.draw(canvas)
        for text in canvas.findobj(matplotlib.text.Text):
            # Names and labels may contain "$"; logarithmic ticks need math, but are set later.
            if text.get_text():
                text.set_parse_math(False)
        # The layout is computed once for all formats, because it takes half of the time.
        canvas.draw_without_rendering()
        # None and not "none", whose placeholder lets matplotlib draw twice each time it saves.
        canvas.set_layout_engine(None)
        yield canvas


def svg(figure: Figure, canvas: Canvas) -> str:
    """Inline SVG in the page's text colour, with identifiers that are unique to the figure."""
    text = StringIO()
    canvas.savefig(text, format="svg", transparent=True, metadata=_unset("Date", "Creator"))
    body = text.getvalue()
    body = body[body.index("<svg") :]
    body = re.sub(r"\s*<metadata>.*?</metadata>|\s*<style.*?</style>", "", body, flags=re.S)
    body = re.sub(r'<svg (.*?)width="[^"]*" (.*?)height="[^"]*"', r"<svg \1\2", body, count=1)
    body = re.sub(r'<svg (.*?)height="[^"]*" (.*?)width="[^"]*"', r"<svg \1\2", body, count=1)
    body = re.sub(r' xmlns:xlink="[^"]*"| xmlns="[^"]*"', "", body)
    body = body.replace("xlink:href", "href").replace(INK, "currentColor")
    body = _ID.sub(rf'id="{figure.name}-\1"', body)
    body = _REFERENCE.sub(rf"\g<1>{figure.name}-\2", body)
    return body.strip()


def png(canvas: Canvas) -> bytes:
    """PNG, for slides."""
    return _save(canvas, "png", dpi=_PNG_DPI, facecolor="white", metadata=_unset("Software"))


def pdf(canvas: Canvas) -> bytes:
    """PDF, for papers."""
    unset = _unset("CreationDate", "Creator", "Producer")
    return _save(canvas, "pdf", facecolor="white", metadata=unset)


def _save(canvas: Canvas, form: str, **options: Any) -> bytes:
    content = BytesIO()
    canvas.savefig(content, format=form, **options)
    return content.getvalue()


def _unset(*keys: str) -> dict[str, None]:
    """Removes metadata that would differ between runs or versions."""
    return dict.fromkeys(keys)


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise UsageError(
            "figures need matplotlib, which is not installed: pip install 'penstock[spark]'"
        ) from None
    return matplotlib
