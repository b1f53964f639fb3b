"""Histograms with their laws, and points: what was kept of one pair is what is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from penstock.lab.result import Result
from penstock.metrics.sketches import Bins, Sketch
from penstock.metrics.statistics import Estimate
from penstock.report.figure import rendered
from penstock.report.figure_selection import figures_of
from penstock.report.page import report_of
from penstock.report.report_data import ReportData
from penstock.report.sources import report_data_of_result
from tests.report.made_up import SKETCHES, made_up

OF_ONE_PAIR = {"pair-delays", "consecutive-delays", "differences-by-delay"}


def names(facts: ReportData) -> list[str]:
    return [figure.name for figure in figures_of(facts)]


def axes_of(result: Result, name: str) -> list[Axes]:
    """What a figure has drawn, to be looked into."""
    (figure,) = [figure for figure in figures_of(ReportData(result)) if figure.name == name]
    with rendered(figure) as canvas:
        return list(canvas.axes)


def caption(result: Result, name: str) -> str:
    (found,) = [figure.caption for figure in figures_of(ReportData(result)) if figure.name == name]
    return " ".join(found.split())


def bars(axes: Axes) -> list[tuple[list[float], list[float]]]:
    """Heights and edges of each histogram."""
    steps = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]
    return [(values.tolist(), edges.tolist()) for values, edges, _ in steps]


def area(line: Any) -> float:
    return float(np.trapezoid(line.get_ydata(), line.get_xdata()))


def sketch(metric: str, name: str) -> Bins:
    found = SKETCHES[metric][name]
    assert isinstance(found, Bins)
    return found


def with_sketches(result: Result, sketches: dict[str, dict[str, Sketch]]) -> Result:
    return msgspec.structs.replace(result, sketches=sketches)


def test_figures_of_one_pair_stand_where_they_were_measured() -> None:
    assert names(ReportData(made_up("M-3.4")))[:3] == ["pair-delays", "delay-differences", "fits"]
    assert OF_ONE_PAIR & {*names(ReportData(made_up("M-3.1")))} == OF_ONE_PAIR - {"pair-delays"}
    assert not OF_ONE_PAIR & {*names(ReportData(made_up("M-3.11")))}


@pytest.mark.parametrize(
    ("id_", "name", "number"),
    [
        ("M-3.4", "pair-delays", "3.4"),
        ("M-3.4", "delay-differences", "3.5"),
        ("M-3.1", "consecutive-delays", "3.9"),
        ("M-3.1", "differences-by-delay", "3.10"),
    ],
)
def test_captions_say_which_run_and_which_figure(id_: str, name: str, number: str) -> None:
    said = caption(made_up(id_, seeds=[7, 8]), name)
    assert "Seed 7." in said
    assert said.endswith(f"Redraws figure {number} of the source.")


@pytest.mark.parametrize("id_", ["M-3.1", "M-3.4"])
def test_a_result_of_before_has_a_page_without_them(id_: str, tmp_path: Path) -> None:
    tree = msgspec.to_builtins(made_up(id_))
    del tree["sketches"]
    (tmp_path / "result.json").write_bytes(msgspec.json.encode(tree))
    facts = report_data_of_result(tmp_path)
    new = ReportData(made_up(id_))
    assert names(facts) == [name for name in names(new) if name not in OF_ONE_PAIR]
    assert report_of(facts, with_files=False).page.startswith("<!DOCTYPE html>")


def test_a_law_is_drawn_over_the_histogram_of_the_same_messages() -> None:
    histogram, cumulative = axes_of(made_up("M-3.4"), "pair-delays")
    assert bars(histogram) == [([30, 50, 20, 9], [100, 104, 108, 112, 116])]
    assert histogram.get_ylabel() == "messages per 4 ms"
    (law,) = histogram.lines
    # So many messages, in bins so wide; little of the law lies beyond.
    assert 0.7 * 110 * 4 < area(law) < 110 * 4
    measured, fitted = (np.asarray(line.get_ydata()).tolist() for line in cumulative.lines)
    assert measured == pytest.approx([0, 10 / 110, 70 / 110, 1])
    assert fitted == sorted(fitted)
    assert fitted[-1] < 1


def test_differences_are_drawn_with_the_scale_of_their_own_run() -> None:
    law, _ = axes_of(made_up("M-3.4"), "delay-differences")
    # Of the farthest pair alone.
    ((heights, _),) = bars(law)
    assert heights == pytest.approx([count / (109 * 4) for count in (20, 35, 36, 18)])
    assert [line.get_label() for line in law.lines] == [
        "3 brokers, b = 2.1 ms", "5 brokers, b = 3.2 ms",
    ]  # fmt: skip
    old = with_sketches(made_up("M-3.4", seeds=[1]), {})
    law, _ = axes_of(old, "delay-differences")
    assert not bars(law)
    assert law.lines[0].get_label() == "3 brokers, b = 4.95 ms"
    assert "as measured" not in caption(old, "delay-differences")


def test_points_are_those_that_were_kept_and_low_is_parted_from_high() -> None:
    result = made_up("M-3.1")
    (axes,) = axes_of(result, "consecutive-delays")
    points, split = axes.lines
    assert np.asarray(points.get_xdata()).tolist() == [110, 120.5, 400]
    assert np.asarray(points.get_ydata()).tolist() == [120.5, 130, 420]
    assert np.asarray(split.get_ydata()).tolist() == [170, 170]
    assert axes.get_xlim() == axes.get_ylim()
    low, high = axes.get_ylim()
    assert low < 110
    assert high > 420
    assert "3 of 7,000 points, evenly spread over the run" in caption(result, "consecutive-delays")


@pytest.mark.parametrize(("correlation", "is_said"), [(0.95, True), (0.4, False)])
def test_delays_go_together_only_where_they_do(correlation: float, is_said: bool) -> None:
    result = made_up("M-3.1")
    result.variants["off"]["pair_correlation"] = Estimate(correlation, None)
    titles = {figure.name: figure.title for figure in figures_of(ReportData(result))}
    assert ("go together" in titles["consecutive-delays"]) == is_said


def test_low_and_high_delay_are_compared_on_one_scale() -> None:
    both = axes_of(made_up("M-3.1"), "differences-by-delay")
    assert [axes.get_title(loc="left") for axes in both] == [
        "(a) delay ≤ 170 ms: 400 messages", "(b) delay > 170 ms: 200 messages",
    ]  # fmt: skip
    for axes, name in zip(both, ("low", "high"), strict=True):
        bins = sketch("pair_delays", f"pair_differences.{name}")
        ((heights, _),) = bars(axes)
        assert heights == pytest.approx([count / bins.total for count in bins.counts])
        assert len(axes.lines) == 1
    assert both[0].get_ylim() == both[1].get_ylim()


def test_differences_that_have_no_law_are_drawn_without() -> None:
    result = made_up("M-3.1")
    flat = Bins(start=0, width=1, counts=[300])
    own = {**result.sketches["off"], "pair_differences.low": flat}
    low, high = axes_of(with_sketches(result, {"off": own}), "differences-by-delay")
    assert (len(low.lines), len(high.lines)) == (0, 1)


def test_one_distance_alone_is_both_near_and_far() -> None:
    result = made_up("M-3.4")
    only: dict[str, Sketch] = {"delays.5": sketch("delay_laws", "delays.5")}
    both = axes_of(with_sketches(result, {"off": only}), "pair-delays")
    assert [axes.get_title(loc="left")[:9] for axes in both] == ["(a) 5 bro", "(b) 5 bro"]
