"""Figures of recovery: which are there, of whom, and what the paper states beside them."""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import Any

import msgspec
import pytest

from penstock.lab.result import Result
from penstock.metrics.statistics import Estimate
from penstock.report.figure import Figure, rendered
from penstock.report.figure_selection import figures_of
from penstock.report.figures.plot_helpers import _columns
from penstock.report.figures.recovered import recovering, smooth, without
from penstock.report.report_data import Histogram, ReportData
from penstock.report.summary_table import summary_section
from tests.report.made_up import made_up

OF_RESULTS = [
    "false-negatives", "false-negatives-over-time", "recovery-bytes", "recovery-delays",
    "delivery-delay", "recovery-rates", "duplicates",
]  # fmt: skip
OF_TRACES = ["hit-ratio", "cache-limits"]


def with_traces(result: Result) -> ReportData:
    """As if its traces had been read, one of them with seconds in which no cache was sampled."""
    series = {
        name: own
        | {
            "sent": [50.0, 60.0, 70.0],
            "messages_asked_for": [0.0, 4.0, 2.0],
            "messages_answered": [0.0, 3.0, 2.0],
            "cache_limit_min": [nan, 5.0, 5.0],
            "cache_limit_mean": [nan, 6.0, 7.0],
            "cache_limit_max": [nan, 20.0, 40.0],
        }
        for name, own in result.series.items()
    }
    bins = Histogram(counts=(0, 5, 3, 0, 2), width=100.0)
    names = ("delivery_delay", "repaired_delay", "request_to_repair")
    histograms = {name: dict.fromkeys(names, bins) for name in result.variants}
    return ReportData(msgspec.structs.replace(result, series=series), histograms=histograms)


def figure(facts: ReportData, name: str) -> Figure:
    [found] = [figure for figure in figures_of(facts) if figure.name == name]
    return found


def curves(drawing: Figure) -> list[dict[str, tuple[list[float], list[float]]]]:
    """Of each of its axes, what is drawn by the label it has."""
    with rendered(drawing) as canvas:
        return [
            {
                str(line.get_label()): (_values(line.get_xdata()), _values(line.get_ydata()))
                for line in axes.get_lines()
            }
            for axes in canvas.axes
        ]


def _values(data: Any) -> list[float]:
    return [float(value) for value in data]


def test_a_result_has_what_it_knows_and_traces_the_rest() -> None:
    result = made_up("M-4.5")
    assert [f.name for f in figures_of(ReportData(result))][: len(OF_RESULTS)] == OF_RESULTS
    names = [f.name for f in figures_of(with_traces(result))]
    assert names[: len(OF_RESULTS + OF_TRACES)] == OF_RESULTS + OF_TRACES
    for number in range(5, 12):
        assert any(f"figure 4.{number} of" in f.caption for f in figures_of(with_traces(result)))


def test_every_way_of_recovery_is_compared_with_none() -> None:
    facts = ReportData(made_up("M-4.5"))
    assert without(facts) == "off"
    assert recovering(facts) == [name for name in facts.networks if name != "off"]
    assert {"literal", "default", "digest", "tracked"} <= {*recovering(facts)}


def test_distributions_are_whole_with_traces_and_points_without() -> None:
    result = made_up("M-4.5", seeds=[1])
    label = "repairs, end to end"
    first, *_ = curves(figure(with_traces(result), "recovery-delays"))
    assert first[label][0] == [200.0, 300.0, 500.0]
    assert first[label][1] == pytest.approx([0.5, 0.8, 1.0])
    alone = figure(ReportData(result), "recovery-delays")
    assert "Points are measured" in alone.caption
    first, *_ = curves(alone)
    assert first[label][1] == [0.5, 0.8, 0.99]


def test_what_recovers_without_requests_is_there_and_has_no_star() -> None:
    result = made_up("M-4.5", seeds=[1])
    for metric in [m for m in result.variants["digest"] if m.startswith("request")]:
        del result.variants["digest"][metric]
    facts = ReportData(result)
    every = curves(figure(facts, "recovery-delays"))
    quiet = every[recovering(facts).index("digest")]
    assert [*quiet] == ["originals, end to end", "repairs, end to end"]
    assert all(len(own) == 4 for own in every if own and own is not quiet)


def test_what_the_paper_states_depends_on_the_size_of_the_network() -> None:
    small, large = (
        ReportData(made_up("M-4.5", seeds=[1], sets=[f"network.topology.size={size}"]))
        for size in (12, 46)
    )
    for facts, divisor, reach_ms, shares in (
        (small, 2, 200.0, ("90%", "80%")),
        (large, 3, 350.0, ("80%", "70%")),
    ):
        [bars] = curves(figure(facts, "false-negatives"))
        missed = facts.never_delivered("off")
        assert missed is not None
        [line] = [y for label, (_, y) in bars.items() if label.startswith("the paper")]
        assert line[0] == pytest.approx(missed.mean / divisor)
        [star] = [
            x
            for label, (x, _) in curves(figure(facts, "recovery-delays"))[0].items()
            if label.startswith("the paper")
        ]
        assert star == [reach_ms]
        [lines] = curves(figure(facts, "duplicates"))
        said = sorted(label for label in lines if label.startswith("the paper"))
        assert said == sorted(
            f"the paper: more than {share} of {what}"
            for share, what in zip(shares, ("requests", "repairs"), strict=True)
        )


def test_seconds_without_a_request_or_a_sample_are_no_zeros() -> None:
    facts = with_traces(made_up("M-4.5"))
    [hits] = curves(figure(facts, "hit-ratio"))
    assert hits["digest"] == ([1.5, 2.5], [0.75, 1.0])
    first, *_ = curves(figure(facts, "cache-limits"))
    assert first["mean"] == ([1.5, 2.5], [6.0, 7.0])


def test_who_sends_no_requests_has_no_hit_ratio_and_the_caption_says_so() -> None:
    facts = with_traces(made_up("M-4.5"))
    facts.result.series["tracked"]["messages_asked_for"] = [0.0, 0.0, 0.0]
    hits = figure(facts, "hit-ratio")
    assert {"literal", "digest"} < set(curves(hits)[0])
    assert "tracked" not in curves(hits)[0]
    assert "No curve: tracked, where" in hits.caption


def test_names_below_bars_do_not_run_into_each_other() -> None:
    with rendered(figure(with_traces(made_up("M-4.5")), "false-negatives")) as canvas:
        boxes = [label.get_window_extent() for label in canvas.axes[0].get_xticklabels()]
    assert len(boxes) > 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_repairs_that_come_late_are_more_violations_and_the_caption_says_why() -> None:
    facts = with_traces(made_up("M-4.5"))
    facts.result.variants["digest.ordered"]["violations_removed"] = Estimate(-0.02, None, "")
    facts.result.variants["digest"]["repairs"] = Estimate(70, None, "messages")
    late = figure(facts, "violations")
    with rendered(late) as canvas:
        said = [text.get_text() for text in canvas.axes[0].texts]
    assert any(text.endswith("\n+2.0 %") for text in said)
    assert not any("-" in text for text in said)
    assert "A repair that comes after later messages counts" in late.caption
    facts.result.variants["digest"]["repairs"] = Estimate(0, None, "messages")
    assert "A repair" not in figure(facts, "violations").caption


def test_long_series_are_drawn_as_means_of_stretches() -> None:
    times, values = smooth([1.0, 3.0] * 60)
    assert (len(times), times[0], {*values.tolist()}) == (60, 1.0, {2.0})


def test_the_glance_says_what_is_missed_and_for_how_many_bytes() -> None:
    said = str(summary_section(ReportData(made_up("M-4.5", seeds=[1]))))
    assert "Without recovery 80.8 deliveries are missed. By literal: 80.8 (0 % fewer)" in said
    assert "never delivered" in said
    for name in ("off", "literal", "digest"):
        assert name in said


def test_a_legend_has_as_many_columns_as_fit() -> None:
    assert _columns(["off", "literal", "default", "digest"]) == 4
    assert _columns(["x" * 30, "y" * 30, "z" * 30]) == 2
    assert _columns(["x" * 21, "y" * 20, "z" * 17, "w" * 54]) == 2
    assert _columns(["x" * 80, "y" * 80]) == 1
