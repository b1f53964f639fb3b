"""Styles of curves: colour, line and marker.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart. In a
comparison of orderings the colour shows the kind of an ordering, and the line and the
marker tell orderings of one kind apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.report.report_data import ReportData

# Text, axes and the baseline "off"; in a page it is replaced by the page's text colour.
INK: Final = "#1f2328"
BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
GREEN: Final = "#009e73"
VERMILION: Final = "#d55e00"
PURPLE: Final = "#cc79a7"
SKY: Final = "#56b4e9"

PALETTE: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK)
KIND_COLOURS: Final = {"off": INK, "constant": BLUE, "literal": VERMILION, "default": GREEN}
_CONSTANT_WITH_RECORD: Final = SKY
_LINE_STYLES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True, slots=True)
class CurveStyle:
    """Colour, line style, marker and line width of one curve."""

    colour: str
    line: Any = "-"
    marker: str = "o"
    width: float = 1.6


def curve_style(index: int) -> CurveStyle:
    """The style of the curve at `index` among unrelated curves."""
    return CurveStyle(
        PALETTE[index % len(PALETTE)],
        _LINE_STYLES[index // len(PALETTE) % len(_LINE_STYLES)],
        _MARKERS[index % len(_MARKERS)],
    )


def curve_styles(facts: ReportData, names: Sequence[str]) -> dict[str, CurveStyle]:
    """Styles by kind of ordering if there are several kinds, otherwise by position."""
    kinds = {name: facts.kind(name) for name in names}
    if len({*kinds.values()} - {None}) < 2:
        return {name: curve_style(index) for index, name in enumerate(names)}
    found: dict[str, CurveStyle] = {}
    seen: Counter[str] = Counter()
    for name in names:
        colour = _colour(facts, name)
        found[name] = CurveStyle(
            colour,
            _LINE_STYLES[seen[colour] % len(_LINE_STYLES)],
            _MARKERS[seen[colour] % len(_MARKERS)],
            2.6 if kinds[name] == "default" else 1.5,
        )
        seen[colour] += 1
    return found


def variant_styles(names: Sequence[str]) -> dict[str, CurveStyle]:
    """Styles of variants: one named like a kind has that colour, others have the rest."""
    left = [colour for colour in PALETTE if colour not in KIND_COLOURS.values()] or [INK]
    others = [name for name in names if name not in KIND_COLOURS]
    return {
        name: CurveStyle(
            KIND_COLOURS[name] if name in KIND_COLOURS else left[others.index(name) % len(left)],
            _LINE_STYLES[index % len(_LINE_STYLES)],
            _MARKERS[index % len(_MARKERS)],
        )
        for index, name in enumerate(names)
    }


def _colour(facts: ReportData, name: str) -> str:
    kind = facts.kind(name)
    if kind == "constant" and facts.setting(name, "record"):
        return _CONSTANT_WITH_RECORD
    return KIND_COLOURS.get(kind or "off", INK)
