"""The figures of congestion control, and what stands at the top of its page."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from matplotlib.text import Text

from penstock.lab.result import Result
from penstock.metrics.statistics import Estimate
from penstock.report.figure import rendered
from penstock.report.figure_selection import figures_of
from penstock.report.figures.controlled import bottlenecks, compared
from penstock.report.figures.shares import ahead, distance, fair_shares, max_min
from penstock.report.page import report_of
from penstock.report.report_data import ReportData
from penstock.report.summary_table import summary_section
from tests.report.made_up import made_up
from tests.report.test_recovery import curves, figure

# Each receiver has a publisher of its own.
PAIRS = {("narrow", "p1"): 20.0, ("wide", "p2"): 60.0}
LINK = [80.0] * 3 + [40.0] * 3


def with_traces(result: Result) -> ReportData:
    """As if traces had been read: a message has a kilobit; the link is halved after 3 s."""
    more = {
        "offered": [100.0] * 6,
        "sent": [90.0] * 6,
        "dropped_at_source": [10.0] * 6,
        "received.narrow": [20.0] * 6,
        "received.wide": [60.0] * 3 + [20.0] * 3,
        "wanted.narrow": [20.0] * 6,
        "wanted.wide": [60.0] * 6,
        "link_kbps.B1-B2": LINK,
        "link_capacity_kbps.B1-B2": LINK,
        "link_kbps.B2-B1": [1.0] * 6,
        "link_capacity_kbps.B2-B1": LINK,
        "feedback.p1": [0.0, 4.0, 4.0, 4.0, 4.0, 4.0],
        "feedback.p2": [0.0, 8.0, 8.0, 8.0, 8.0, 8.0],
        "flow_table.p1": [0.0, 5.0, 5.0, 5.0, 5.0, 5.0],
    }
    series = {name: own | more for name, own in result.series.items()}
    figures = {
        "effairness": Estimate(0.875, None, ""),
        "effairness.p1": Estimate(0.75, None, ""),
        "effairness.p2": Estimate(1.0, None, ""),
        "queue_delay_mean": Estimate(40.0, None, "ms"),
    }
    variants = {name: own | figures for name, own in result.variants.items()}
    pairs = {
        name: {"received_mps": PAIRS, "effairness": dict.fromkeys(PAIRS, 0.875)}
        for name in result.variants
    }
    return ReportData(
        msgspec.structs.replace(result, series=series, variants=variants), pairs=pairs
    )


def test_a_result_has_rates_and_traces_the_rest() -> None:
    result = made_up("M-5.11", seeds=[1])
    assert [f.name for f in figures_of(ReportData(result))] == ["bottleneck", "receivers"]
    names = [f.name for f in figures_of(with_traces(result))]
    assert names == ["bottleneck", "receivers", "feedback"]
    assert "Redraws figure 5.11 of" in figure(with_traces(result), "receivers").caption
    assert "Redraws figure 5.9 of" in figure(ReportData(made_up("M-5.9")), "bottleneck").caption
    assert "Traces would also tell" in figure(ReportData(result), "bottleneck").caption


def test_where_nothing_is_controlled_there_is_none_of_it() -> None:
    facts = with_traces(made_up("M-3.1", seeds=[1]))
    assert compared(facts) == []
    assert not {"bottleneck", "receivers", "feedback"} & {f.name for f in figures_of(facts)}
    assert "dropped at source" not in str(summary_section(facts))


def test_the_link_is_above_and_what_becomes_of_messages_below() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    assert bottlenecks(facts, facts.networks) == ["B1-B2"], "not the way back"
    panels = curves(figure(facts, "bottleneck"))
    columns = len(facts.networks)
    assert len(panels) == 3 * columns
    above, middle, below = panels[::columns]
    assert above["on the link"][1] == LINK
    assert above["what the link bears"][1] == [*LINK, LINK[-1]], "to the end of its last second"
    assert middle["published by applications"][1] == [100.0] * 6
    assert middle["sent"][1] == [90.0] * 6
    assert {*below} == {"delivered", "lost in the network", "dropped at source"}


def test_two_links_that_are_as_busy_have_a_row_each() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    for own in facts.result.series.values():
        own["link_kbps.B1-B3"] = own["link_capacity_kbps.B1-B3"] = [50.0] * 6
    assert bottlenecks(facts, facts.networks) == ["B1-B2", "B1-B3"]
    assert len(curves(figure(facts, "bottleneck"))) == 4 * len(facts.networks)


def test_shares_follow_the_link_and_are_no_more_than_is_wanted() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    shares = fair_shares(facts, "default", ["narrow", "wide"])
    assert shares["narrow"].tolist() == pytest.approx([20] * 6)
    assert shares["wide"].tolist() == pytest.approx([60] * 3 + [20] * 3)
    assert distance(facts, "default", shares) == pytest.approx(0)
    facts.result.series["default"]["received.wide"] = [30.0] * 3 + [20.0] * 3
    shares = {"wide": np.array([60.0] * 3 + [20.0] * 3)}
    assert distance(facts, "default", shares) == pytest.approx(0.25)


def test_who_shares_a_publisher_has_no_dotted_line() -> None:
    result = made_up("M-5.11", seeds=[1])
    shared = {("narrow", "p1"): 20.0, ("wide", "p1"): 60.0}
    pairs = {name: {"received_mps": shared} for name in result.variants}
    facts = ReportData(with_traces(result).result, pairs=pairs)
    assert fair_shares(facts, "default", ["narrow", "wide"]) == {}
    assert "Dotted" not in figure(facts, "receivers").caption


def test_what_is_left_is_shared_evenly() -> None:
    assert max_min(10, {"a": 2, "b": 9, "c": 5}) == {"a": 2, "c": 4, "b": 4}
    assert max_min(20, {"a": 2, "b": 9}) == {"a": 2, "b": 9}


def test_tcp_is_drawn_where_there_is_any() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    for own in facts.result.series.values():
        own["content_kbps"] = [80.0, 80.0, 40.0, 40.0, 20.0, 20.0]
        own["tcp_kbps.bulk"] = [0.0, 0.0, 40.0, 40.0, 20.0, 20.0]
    first, *_ = curves(figure(facts, "beside-tcp"))
    assert first["messages"][1][0] == 80.0
    assert first["TCP"][1][2] == 40.0
    assert "TCP is ahead of messages: off +0 %" in figure(facts, "beside-tcp").title
    for own in facts.result.series.values():
        own["tcp_kbps.bulk"] = [0.0, 0.0, 0.0, 20.0, 20.0, 20.0]
    # Of 40 kbps: 20 beside 40, 20 and 20.
    assert ahead(facts, "off") == pytest.approx(-1 / 6)
    # From when both are there: half of 80, then half of 40.
    assert first["even share"] == ([2.5, 3.5, 4.5, 5.5], [40.0, 20.0, 20.0, 20.0])


def test_feedback_is_that_of_a_publisher_on_average() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    said, table = curves(figure(facts, "feedback"))
    assert {*said} == {*facts.controlled} == {*facts.networks} - {"off"}, (
        "without control nobody says anything"
    )
    assert said["default"][1][1] == 6.0
    assert table["default"][1][1] == 5.0


def test_titles_of_variants_do_not_run_into_each_other() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    for found in figures_of(facts):
        with rendered(found) as canvas:
            texts = canvas.findobj(Text)
            titles = [t for t in texts if isinstance(t, Text) and t.get_text() in facts.networks]
            # Those in the legend are no titles.
            boxes = [t.get_window_extent() for t in titles if t.axes is not None]
            assert len(boxes) == (0 if found.name == "feedback" else len(facts.networks))
            row = sorted(boxes, key=lambda box: box.x0)
            assert all(left.x1 < right.x0 for left, right in pairwise(row))


def test_the_glance_tells_losses_and_drops_apart() -> None:
    facts = with_traces(made_up("M-5.11", seeds=[1]))
    facts.result.variants["off"]["false_negatives"] = Estimate(800.0, None, "deliveries")
    facts.result.variants["default"]["false_negatives"] = Estimate(8.0, None, "deliveries")
    said = str(summary_section(facts))
    assert "Without control 800 messages are lost in the network." in said
    assert "by default: 8 (99.0 % fewer), 0 % more delivered, 50.5 dropped at source" in said
    for heading in ("lost in the network", "dropped at source", "use of the bottleneck"):
        assert f">{heading}<" in said
    assert "narrow from p1" in said
    assert "20/s, 0.875" in said
    assert "all from p1" in said
    assert ">the network<" in said
    assert "<h3>" in report_of(facts, with_files=False).page


def test_each_variant_is_compared_with_its_like() -> None:
    facts = ReportData(made_up("C-1", seeds=[1]))
    assert {name: facts.baseline_of(name) for name in facts.controlled} == {
        "apart": "off-apart",
        "half": "off-half",
        "same": "off-same",
        "blind": "off-apart",
        "literal": "off-apart",
    }
    for name, lost in (("off-half", 300.0), ("half", 30.0), ("off-apart", 200.0), ("apart", 2.0)):
        facts.result.variants[name]["false_negatives"] = Estimate(lost, None, "deliveries")
    said = str(summary_section(facts))
    assert "Without control (off-half) 300 messages are lost in the network. By half: 30" in said
    assert "Without control (off-apart) 200 messages are lost in the network. By apart: 2" in said


def test_of_many_receivers_the_glance_tells_the_spread() -> None:
    result = made_up("M-5.11", seeds=[1])
    many = {(f"s{n}", "p"): n / 20 for n in range(21)}
    pairs = {name: {"effairness": many} for name in result.variants}
    said = str(summary_section(ReportData(result, pairs=pairs)))
    assert "median of 21 receivers" in said
    assert ">0.500<" in said
    assert "s3 from p" not in said


def test_a_result_takes_what_it_lacks_of_control_from_traces() -> None:
    result = made_up("M-5.11", seeds=[1])
    both = ReportData(result).merged_with(with_traces(result))
    effairness = both.figure("default", "effairness")
    assert effairness is not None
    assert effairness.mean == 0.875
    assert both.pairs("default", "received_mps") == PAIRS
    plain = made_up("M-3.1", seeds=[1])
    other = ReportData(plain).merged_with(with_traces(plain))
    assert other.figure("off", "effairness") is None, "there is nothing to be controlled"
