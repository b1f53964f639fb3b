"""The figures of guaranteed streams: which are there, of which variants, and what they draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import Rectangle

from penstock.lab.findings import Findings
from penstock.lab.result import Result, estimates
from penstock.report.figure import rendered
from penstock.report.figure_selection import figures_of
from penstock.report.figures.stream_panels import colours
from penstock.report.report_data import ReportData
from tests.report.made_up import plain
from tests.report.test_recovery import curves, figure

ALL = ["stream-rates", "nack-window", "stream-queues", "stream-alerts", "doubt-rate"]
STILL = [0.1, 0.1, 0.1]
SERIES = {
    "publish_rate": [500.0, 130.0, 500.0],
    "reading_rate.SB1": [500.0, 130.0, 500.0],
    "reading_rate.SB2": [0.0, 550.0, 500.0],
    "nack_window.SB1": STILL,
    "nack_window.SB2": [0.1, 0.3, 0.1],
    "queue_bytes.PB-IB": [0.0, 88_000.0, 0.0],
    "queue_bytes.IB-SB2": [0.0, 20_000.0, 0.0],
    "alerts_normal": [4.0, 4.0, 4.0],
    "alert_rate_sum_normal": [4.0, 4.0, 4.0],
    "alerts_recovering": [0.0, 4.0, 0.0],
    "alert_rate_sum_recovering": [0.0, 6.0, 0.0],
    "doubt_rate_smooth.SB1": [1.0, 1.0, 1.0],
    "doubt_rate_smooth.SB2": [1.0, 1.5, 2.0],
}
PARAMETERS: dict[str, Any] = {"measure": {"phases": {"outage": [0, 1], "back": [1, 3]}}}


def streams(
    *names: str, id_: str = "mine", more: Mapping[str, list[float]] | None = None
) -> Result:
    """Every variant has all series; `more` changes them."""
    found = {
        "recovered_after.SB1.back": (0.0, "s"),
        "recovered_after.SB2.back": (1.5, "s"),
    }
    return plain(
        names,
        id=id_,
        variants={name: estimates([Findings(figures=found)]) for name in names},
        parameters=dict.fromkeys(names, PARAMETERS),
        series={name: {**SERIES, **(more or {})} for name in names},
    )


def test_there_is_a_figure_of_each_idea_with_its_number_in_the_source() -> None:
    assert [f.name for f in figures_of(ReportData(streams("model")))] == ALL
    numbers = {
        ("G-F2", "stream-queues"): 3,
        ("G-E1-500", "nack-window"): 8,
        ("G-E2", "stream-alerts"): 11,
        ("G-E3", "doubt-rate"): 14,
    }
    for (id_, name), number in numbers.items():
        caption = figure(ReportData(streams("model", id_=id_)), name).caption
        assert f"Redraws figure {number} of" in caption


def test_a_figure_has_four_panels_at_most_and_one_legend_and_time_axis() -> None:
    names = ["a", "b", "c", "d", "e"]
    for found in figures_of(ReportData(streams(*names))):
        with rendered(found) as canvas:
            assert [axes.get_title(loc="left") for axes in canvas.axes] == names[:4]
            assert len(canvas.legends) == 1
            assert [bool(axes.get_xlabel()) for axes in canvas.axes] == [False] * 3 + [True]
            assert all(axes.get_lines() for axes in canvas.axes)


def test_only_windows_that_change_are_drawn() -> None:
    facts = ReportData(streams("fixed", "vegas"))
    facts.result.series["fixed"] = SERIES | {"nack_window.SB2": STILL}
    [panel] = curves(figure(facts, "nack-window"))
    assert panel == {"SB2": ([0.5, 1.5, 2.5], [0.1, 0.3, 0.1])}
    assert "vegas 0.3 s at SB2" in figure(facts, "nack-window").title
    still = ReportData(streams("fixed", more={"nack_window.SB2": STILL}))
    assert "nack-window" not in [f.name for f in figures_of(still)]


def test_a_host_has_one_colour_in_all_figures() -> None:
    facts = ReportData(streams("model"))
    facts.result.series["model"].pop("nack_window.SB1")
    assert colours(facts, "nack_window.") == colours(facts, "reading_rate.")
    for name, prefix in (("stream-rates", "reading_rate."), ("nack-window", "nack_window.")):
        with rendered(figure(facts, name)) as canvas:
            [line] = [o for o in canvas.axes[0].get_lines() if o.get_label() == "SB2"]
            assert line.get_color() == colours(facts, prefix)["SB2"]


def test_queues_are_in_kilobytes_on_a_linear_axis_if_they_are_alike() -> None:
    found = figure(ReportData(streams("model")), "stream-queues")
    [panel] = curves(found)
    assert panel["PB to IB"][1] == [0, 88, 0]
    assert panel["IB to SB2"][1] == [0, 20, 0]
    assert "model 88 kB (PB to IB)" in found.title
    with rendered(found) as canvas:
        assert canvas.axes[0].get_yscale() == "linear"
    wide = {"queue_bytes.PB-IB": [0.0, 5e6, 0.0]}
    with rendered(figure(ReportData(streams("off", more=wide)), "stream-queues")) as canvas:
        assert canvas.axes[0].get_yscale() == "symlog"


def test_queues_of_other_networks_are_not_drawn() -> None:
    other = plain(["off"], series={"off": {"queue_bytes.B1-B2": [5_000.0]}})
    assert "stream-queues" not in [f.name for f in figures_of(ReportData(other))]


def test_alerts_are_drawn_where_there_are_any() -> None:
    found = figure(ReportData(streams("model")), "stream-alerts")
    [panel] = curves(found)
    points = {label: drawn for label, drawn in panel.items() if label.startswith("hosts")}
    assert points == {
        "hosts that keep up": ([0.5, 1.5, 2.5], [1, 1, 1]),
        "hosts that recover": ([1.5], [1.5]),
    }
    assert "model 1.5" in found.title
    nobody = {"alerts_recovering": [0.0] * 3, "alert_rate_sum_recovering": [0.0] * 3}
    calm = figure(ReportData(streams("default", more=nobody)), "stream-alerts")
    assert "default 1 (none recovers)" in calm.title
    assert "hosts that recover" not in curves(calm)[0]
    silent = {"alerts_normal": [0.0] * 3, "alert_rate_sum_normal": [0.0] * 3}
    quiet = ReportData(streams("off", more=nobody | silent))
    assert "stream-alerts" not in [f.name for f in figures_of(quiet)]


def test_a_recovery_is_shaded_from_the_beginning_of_its_phase() -> None:
    found = figure(ReportData(streams("model")), "doubt-rate")
    assert "Shaded" in found.caption
    with rendered(found) as canvas:
        [shade] = [p for p in canvas.axes[0].patches if isinstance(p, Rectangle)]
        assert (shade.get_x(), shade.get_width()) == pytest.approx((1, 1.5))
    facts = ReportData(streams("off"))
    facts.result.variants["off"] = {}
    assert "Shaded" not in figure(facts, "doubt-rate").caption


def swept(*variants: tuple[str, float, float | None], seeds: int = 1) -> ReportData:
    """Variants with their gains, and how long their recovery takes, if it ends."""

    def findings(after: float | None, seed: int) -> Findings:
        figures = {"recovery_publish_rate.SB2.back": (130.0 + seed, "messages/s")}
        if after is not None:
            figures |= {"recovered_after.SB2.back": (after + seed, "s")}
            figures |= {"recovered_after.SB1.back": (0.0, "s")}
        return Findings(figures=figures)

    parameters = {
        name: {"streams": {"control": {"recovery_gain": gain}}} for name, gain, _ in variants
    }
    return ReportData(
        msgspec.structs.replace(
            plain([name for name, _, _ in variants]),
            id="G-E4",
            variants={
                name: estimates([findings(after, seed) for seed in range(seeds)])
                for name, _, after in variants
            },
            parameters=parameters,
        )
    )


MODEL = [("model-1.6", 1.6, 52.0), ("model-0.2", 0.2, 116.0), ("model-1.0", 1.0, 101.5)]


def gains(axes: Axes) -> dict[str, list[float]]:
    """The places of points, by the label of their curve."""
    found = {}
    for each in axes.containers:
        drawn: Any = cast(ErrorbarContainer, each).lines[0]
        found[str(each.get_label())] = [float(value) for value in drawn.get_xdata()]
    return found


def test_a_sweep_of_the_gain_is_a_curve_of_recovery_times() -> None:
    for seeds in (1, 2):
        facts = swept(*MODEL, ("literal-0.6", 0.6, 51.0), ("plain", 1.0, 9.0), seeds=seeds)
        found = figure(facts, "recovery-time")
        assert "Redraws figure 16 of" in found.caption
        assert found.title.startswith("SB2 recovers with model in 116")
        with rendered(found) as canvas:
            drawn = [gains(axes) for axes in canvas.axes]
        assert drawn == [{"model": [0.2, 1.0, 1.6], "literal": [0.6]}] * 2


def test_a_recovery_that_does_not_end_is_no_point_and_two_are_no_curve() -> None:
    endless = [*MODEL, ("model-0.1", 0.1, None)]
    with rendered(figure(swept(*endless), "recovery-time")) as canvas:
        assert gains(canvas.axes[0]) == {"model": [0.2, 1.0, 1.6]}
    names = [f.name for f in figures_of(swept(*MODEL[:2]))]
    assert "recovery-time" not in names
    nobody = [(name, gain, None) for name, gain, _ in MODEL]
    assert "recovery-time" not in [f.name for f in figures_of(swept(*nobody))]


@pytest.mark.parametrize(
    ("id_", "name", "label", "at"),
    [
        ("G-E1", "stream-rates", "the paper: recovered", ([280, 280], [0, 1])),
        ("G-E1-500", "nack-window", "the paper: about 0.9 s", ([0, 1], [0.9, 0.9])),
        ("G-E2", "stream-queues", "the paper: below 1,000 kB", ([0, 1], [1_000, 1_000])),
        ("G-E3", "doubt-rate", "the paper: up to about 5", ([0, 1], [5, 5])),
    ],
)
def test_what_the_paper_states_is_a_line_at_the_published_scale(
    id_: str, name: str, label: str, at: tuple[list[float], list[float]]
) -> None:
    for times, is_there in ((1, True), (6, False)):
        result = streams("model", id_=id_)
        result.parameters["model"] = PARAMETERS | {"streams": {"scale": {"times": times}}}
        [panel] = curves(figure(ReportData(result), name))
        assert panel.get(label) == (at if is_there else None)


def test_the_knees_of_the_paper_are_lines() -> None:
    for panel in curves(figure(swept(*MODEL), "recovery-time")):
        # Both have one entry in the legend; the second is found by its label.
        assert panel["the paper: knees at 1.0 and 1.8"][0] == [1.8, 1.8]
