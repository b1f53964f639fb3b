"""Names are drawn as they are, and logarithms as logarithms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.report.figure import Figure, rendered, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def plot(canvas: Canvas) -> None:
    axes = canvas.subplots()
    axes.plot([1, 10, 1000], [1, 2, 3], label="$off_{x}$ and 5 $")
    axes.set(xscale="log", xlabel="$ a mark of money")
    axes.set_yticks([1, 2, 3], labels=["$_a", "b$^", "$\\frac$"])
    axes.legend()


def test_names_with_marks_that_mean_formulas_are_only_names() -> None:
    figure = Figure(name="marks", title="Marks", draw=plot)
    with rendered(figure) as canvas:
        page = svg(figure, canvas)
    for name in ("$off_{x}$ and 5 $", "$ a mark of money", "$_a", "b$^", "$\\frac$"):
        assert name in page
    # In comments alone: what is seen is a ten with a small three.
    assert "mathdefault" not in re.sub(r"<!--.*?-->", "", page), "logarithms are formulas still"
