"""Figures of casts: a row for each variant, bounds of the same variant, what the paper states."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest

from penstock.report.figure import rendered
from penstock.report.figure_selection import figures_of
from penstock.report.report_data import ReportData
from penstock.report.summary_table import distinguishing_metrics
from tests.report.made_casts import DEFAULT, LITERAL, casts
from tests.report.test_recovery import curves, figure

ALL = ["cast-repairs", "cast-feedback", "cast-aggregation", "cast-reports", "cast-time"]
BOTH = {"default": DEFAULT, "literal-500": LITERAL}


def names_of(facts: ReportData) -> list[str]:
    return [found.name for found in figures_of(facts)]


def bars_of(facts: ReportData, name: str) -> dict[str, list[float]]:
    """The lengths of bars by their label, from the first row on."""
    with rendered(figure(facts, name)) as canvas:
        [axes] = canvas.axes
        handles: Any = zip(*axes.get_legend_handles_labels(), strict=True)
        return {
            label: [patch.get_width() for patch in handle]
            for handle, label in handles
            if hasattr(handle, "patches")
        }


def marked(facts: ReportData, name: str, label: str) -> list[float]:
    """Where marks of a label are: each is a line across a bar, followed by a gap."""
    [drawn] = curves(figure(facts, name))
    return [x for x in drawn[label][0][::3] if not isnan(x)]


def test_there_is_a_figure_of_each_idea_with_its_number_in_the_source() -> None:
    assert names_of(casts(BOTH)) == ALL
    for id_ in ("P-F2", "P-F2-graph"):
        numbers = {"cast-aggregation": " 2", "cast-reports": "s 3 and 4", "cast-repairs": " 6"}
        for name, number in numbers.items():
            caption = figure(casts(BOTH, id_=id_), name).caption
            assert f"Redraws figure{number} of the source" in caption


def test_repairs_stand_beside_the_bounds_of_the_same_variant() -> None:
    facts = casts({"default": DEFAULT, "literal": LITERAL | {"yardstick_repairs.caches": 0.4}})
    assert bars_of(facts, "cast-repairs") == {
        "links that repairs cross": [0.451, 2.96],
        "nodes that send repairs": [0.288, 1.14],
    }
    # Of links, then of nodes: the second has the label in the legend.
    label = "bound: every node keeps what it received"
    assert marked(facts, "cast-repairs", label) == [0.239, 0.239]
    with rendered(figure(facts, "cast-repairs")) as canvas:
        lines: Any = [o for o in canvas.axes[0].get_lines() if o.get_label() == label]
        assert [line.get_xdata()[0] for line in lines] == [0.373, 0.239]
        assert lines[0].get_xdata()[3] == 0.4
        assert [lines[0].get_ydata()[at] for at in (0, 3)] == pytest.approx([-0.4, 0.6])
    title = figure(facts, "cast-repairs").title
    assert title == "Repairs of default cross 45.1 % as many links as unicast's; the bound is 45 %"


@pytest.mark.parametrize(
    ("name", "stars"), [("cast-repairs", [0.32, 0.33]), ("cast-feedback", [0.25, 0.2])]
)
def test_what_the_paper_states_is_a_star_at_the_published_scale(
    name: str, stars: list[float]
) -> None:
    def drawn(facts: ReportData) -> list[list[float]]:
        [found] = curves(figure(facts, name))
        return [xs for label, (xs, _) in found.items() if label.startswith("the paper")]

    assert drawn(casts(BOTH, id_="P-F2")) == [stars]
    assert drawn(casts({"literal-500": LITERAL}, id_="P-F2")) == [stars[1:]]
    assert drawn(casts(BOTH, id_="P-F2", packets=2_000)) == []
    assert drawn(casts(BOTH)) == []


def test_feedback_is_on_a_logarithmic_axis_with_pgm_beside_it() -> None:
    facts = casts(BOTH, seeds=2)
    assert marked(facts, "cast-feedback", "PGM: NAKs and their confirmations") == pytest.approx(
        [3.636, 3.636]
    )
    with rendered(figure(facts, "cast-feedback")) as canvas:
        assert canvas.axes[0].get_xscale() == "log"
    alike = {"default": {"needs_of_unicast": 0.2, "feedback_of_unicast": 0.3}}
    with rendered(figure(casts(alike), "cast-feedback")) as canvas:
        assert canvas.axes[0].get_xscale() == "linear"


def test_relays_stand_below_their_variant_with_those_of_the_paper() -> None:
    for id_, paper in (("P-F2", "\n(the paper: 28.6)"), ("mine", "")):
        with rendered(figure(casts(BOTH, id_=id_), "cast-aggregation")) as canvas:
            labels = [tick.get_text() for tick in canvas.axes[0].get_yticklabels()]
        assert labels[1] == f"literal-500\n24 relays{paper}"
    bars = bars_of(casts(BOTH), "cast-aggregation")
    assert bars["packets they ask for"] == [0.97, 0.5]


def test_reports_are_drawn_on_their_way_to_the_publisher() -> None:
    facts = casts(BOTH)
    bars = bars_of(facts, "cast-reports")
    assert {label: lengths[1] for label, lengths in bars.items()} == {
        "subscribers send": 20_000,
        "relays receive": 19_000,
        "relays send": 5_000,
        "the publisher receives": 900,
    }
    assert [*bars] == [
        "subscribers send",
        "relays receive",
        "relays send",
        "the publisher receives",
    ]
    assert "receives 9 reports of 90" in figure(facts, "cast-reports").title


def test_late_receivers_have_bars_where_there_are_any() -> None:
    facts = casts({"default": DEFAULT, "late": DEFAULT | {"late_over_copy": 1.2}})
    assert [*bars_of(facts, "cast-time").values()] == [[1.011, 1.011], [1.2]]
    assert "late receiver" in figure(facts, "cast-time").caption
    assert "late receiver" not in figure(casts(BOTH), "cast-time").caption


def test_a_cast_that_does_not_end_has_no_bar_but_is_told() -> None:
    endless = {k: v for k, v in DEFAULT.items() if k not in ("cast_time", "cast_time_over_bound")}
    facts = casts({"default": DEFAULT, "fail": endless | {"cast_unfinished": 3}})
    assert bars_of(facts, "cast-time") == {"the whole cast": [1.011]}
    with rendered(figure(facts, "cast-time")) as canvas:
        labels = [tick.get_text() for tick in canvas.axes[0].get_yticklabels()]
    assert labels == [
        "default\n20.3 s, bound 20.1 s\nset-up 0.4 s",
        "fail\n3 never finish, bound 20.1 s\nset-up 0.4 s",
    ]
    assert "cast-time" not in names_of(casts({"fail": endless}))


HOLDS = {
    f"hold-{held:g}": LITERAL | {"aggregation.messages": share, "cast_time": 20 + 10 * held}
    for held, share in ((0.01, 0.3), (1.0, 0.6), (0.1, 0.5))
}
HELD = {name: {"hold_s": float(name.removeprefix("hold-"))} for name in HOLDS}


def test_variants_of_a_setting_are_a_curve_beside_its_bound() -> None:
    found = figure(casts(HOLDS | {"default": DEFAULT}, settings=HELD, seeds=2), "cast-hold")
    assert found.title == "Aggregation of hold: 30.3 % at 0.01 and 60.6 % at 1"
    with rendered(found) as canvas:
        assert canvas.axes[0].get_xscale() == "log"
    aggregation, time = curves(found)
    assert aggregation["bound: nothing comes through"][1] == [1, 1]
    assert time["bound (hold)"][0] == [0.01, 0.1, 1.0]
    assert time["bound (hold)"][1] == pytest.approx([20.2808] * 3)


def test_curves_of_losses_have_single_variants_beside_them() -> None:
    lost = {"loss-0": 0.0, "loss-1": 0.01, "loss-20": 0.2, "literal-5": 0.05}
    facts = casts(
        dict.fromkeys(lost, DEFAULT),
        settings={name: {"loss": {"path": share}} for name, share in lost.items()},
    )
    repairs = curves(figure(facts, "cast-loss"))[1]
    bound = "bound: only the publisher has the object"
    assert repairs[f"{bound} (loss)"] == ([0, 0.01, 0.2], [0.45] * 3)
    assert repairs[f"{bound} (literal)"] == ([0.05], [0.45])
    # Without a third value there is no curve.
    few = dict(list(lost.items())[:2])
    fewer = casts(
        dict.fromkeys(few, DEFAULT),
        settings={name: {"loss": {"path": share}} for name, share in few.items()},
    )
    assert names_of(fewer) == ALL


def test_no_curve_is_drawn_over_a_setting_that_all_share() -> None:
    assert names_of(casts(dict.fromkeys(("a-1", "a-2", "a-3"), DEFAULT))) == ALL


def test_the_glance_compares_casts_with_unicast() -> None:
    facts = casts(BOTH)
    found = distinguishing_metrics(facts, facts.names)
    assert found[:2] == ["repairs_of_unicast", "repair_nodes_of_unicast"]
    assert {"feedback_of_unicast", "cast_time_over_bound"} <= {*found}
