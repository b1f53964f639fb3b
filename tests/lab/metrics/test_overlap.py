"""What groups have for themselves and what they share, counted by hand."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernel.instant import SECOND
from penstock.lab.metrics.overlap import Overlap
from penstock.trace.records import Arrival, Row
from tests.lab.metrics.batches import context, expected, feed, values

GROUPS = {"p": ["p-1", "p-2"], "one": ["a-1", "a-2"], "other": ["b-1"]}


def arrival(publisher: str, seq: int, who: str, at_s: float) -> Arrival:
    return Arrival(who, publisher, 0, seq, 0, round(at_s * SECOND), 1, False)


def seen(rows: list[Row]) -> tuple[dict[str, float], dict[str, list[float]]]:
    metric = Overlap(replace(context(seconds=4), members=GROUPS))
    feed(metric, rows)
    return values(metric.figures()), metric.series()


def test_what_no_other_group_wants_is_a_groups_own() -> None:
    rows: list[Row] = [
        # Two of the same group want it: it is still their own.
        expected(0, ("p-1", "a-1")),
        expected(0, ("p-1", "a-2")),
        expected(1, ("p-1", "a-1")),
        expected(1, ("p-1", "b-1")),
        # The same number of another publisher is another message.
        expected(1, ("p-2", "b-1")),
    ]
    rows += [
        arrival("p-1", 0, "a-1", 0.5),
        arrival("p-1", 0, "a-2", 0.5),
        arrival("p-1", 1, "a-1", 1.5),
        arrival("p-2", 1, "b-1", 3.5),
    ]
    figures, series = seen(rows)
    assert figures == {
        "own_rate.one": 2 / 4,
        "shared_rate.one": 1 / 4,
        "own_rate.other": 1 / 4,
        "shared_rate.other": 0,
    }
    assert series["own_rate.one"] == [2, 0, 0, 0]
    assert series["shared_rate.one"] == [0, 1, 0, 0]
    assert series["own_rate.other"] == [0, 0, 0, 1]


def test_what_comes_after_the_end_is_not_counted() -> None:
    figures, _ = seen([expected(0, ("p-1", "a-1")), arrival("p-1", 0, "a-1", 4.5)])
    assert figures == {"own_rate.one": 0, "shared_rate.one": 0}
