"""What crosses links in a cast, beside unicast recovery and the bound, by hand."""

from __future__ import annotations

from penstock.metrics.casts.crossings import CastCrossings
from penstock.metrics.casts.yardsticks import CastYardsticks
from penstock.trace.cast_words import CastKind, Yardstick
from penstock.trace.records import Row
from tests.metrics.casts.made import crossed, node, yardstick
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts

CROSSED: list[Row] = [
    crossed(CastKind.DATA, 1_000),
    crossed(CastKind.REPAIR, 30),
    crossed(CastKind.REPAIR, 15),
    crossed(CastKind.REPAIR, 5, planned=False),
    crossed(CastKind.READY, 70),
    crossed(CastKind.NEEDS, 3),
    crossed(CastKind.NEEDS, 1, planned=False),
    crossed(CastKind.DONE, 6),
]
NODES: list[Row] = [node(20), node(10)]
YARDSTICKS: list[Row] = [
    yardstick(Yardstick.UNICAST, 80, 100, 60),
    yardstick(Yardstick.PUBLISHER_ONLY, None, 40, 20),
    yardstick(Yardstick.PGM, 240, None, None),
]
COUNTS = {
    "repair_crossings": 50,
    "repair_false_crossings": 5,
    "report_crossings": 10,
    "report_crossings.needs": 4,
    "report_crossings.done": 6,
    "report_false_crossings": 1,
}
RATIOS = {
    "repairs_of_unicast": 0.5,
    "repairs_over_bound": 1.25,
    "needs_of_unicast": 0.05,
    "feedback_of_unicast": 0.125,
}


def found(*rows: Row) -> dict[str, float]:
    return values_of(measure_rows(rows, [CastCrossings]))


def test_false_crossings_count_and_the_answers_to_the_opening_do_not() -> None:
    assert found(*CROSSED) == COUNTS


def test_crossings_and_nodes_are_compared_with_unicast_and_the_bound() -> None:
    nodes = {"repair_nodes_of_unicast": 0.5, "repair_nodes_over_bound": 1.5}
    assert found(*CROSSED, *NODES, *YARDSTICKS) == COUNTS | RATIOS | nodes
    assert found(*CROSSED, *YARDSTICKS) == COUNTS | RATIOS


def test_nothing_is_divided_by_what_is_0_or_unknown() -> None:
    unknown = yardstick(Yardstick.UNICAST, 0, None, 0)
    assert found(*CROSSED, *NODES, unknown) == COUNTS


def test_a_table_without_rows_gives_zeros_and_a_missing_one_nothing() -> None:
    empty = values_of(measure_rows([], [CastCrossings], recorded=["cast_crossings"]))
    assert empty == dict.fromkeys(COUNTS, 0)
    assert found(*NODES, *YARDSTICKS) == {}


def test_yardsticks_are_told_by_unicast() -> None:
    assert values_of(measure_rows(YARDSTICKS, [CastYardsticks])) == {
        "yardstick_repairs.unicast": 1,
        "yardstick_nodes.unicast": 1,
        "yardstick_feedback.unicast": 1,
        "yardstick_repairs.publisher_only": 0.4,
        "yardstick_nodes.publisher_only": 20 / 60,
        "yardstick_feedback.pgm": 3,
    }
    assert not measure_rows(YARDSTICKS[1:], [CastYardsticks]).values


def test_parts_of_a_run_add_up() -> None:
    rows = [*CROSSED, *NODES, *YARDSTICKS]
    for metric in (CastCrossings, CastYardsticks):
        whole = measure_rows(rows, [metric])
        assert measure_parts([rows, []], metric).values == whole.values
