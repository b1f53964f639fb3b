"""Frames of feedback and acknowledgements, counted by hand."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.congestion.feedback import Feedback
from penstock.trace import records
from penstock.trace.records import Row, Signal
from tests.metrics.congestion.made import publication, run_of
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts


def feedback(who: str, flow: str, at_ms: int, publisher: str = "p-1") -> records.Feedback:
    at = at_ms * MILLISECOND
    return records.Feedback(who, publisher, flow, at, 1, 0.01, 90.0, 80.0, 40.0, True, 60)


FRAMES = [
    feedback("s-1", "a = 1", 100),
    feedback("s-2", "a = 1", 100),
    # The rest of the first frame, in another batch.
    feedback("s-1", "a = 2", 100),
    feedback("s-1", "a = 1", 1100),
]


@pytest.mark.parametrize("batch_rows", [1, 2, 9])
def test_a_frame_counts_once_whatever_flows_it_names(batch_rows: int) -> None:
    rows: list[Row] = [publication(1, 10, 10), *FRAMES]
    results = measure_rows(rows, [Feedback], batch_rows=batch_rows, run=run_of(2))
    assert values_of(results) == {"feedback_frames": 3, "feedback_rate": 1.5}
    assert series_of(results, "feedback.p-1") == [2, 1]


def test_acknowledgements_are_told_from_other_signals() -> None:
    kinds = ["ack", "echorequest", "ack", "digest"]
    rows: list[Row] = [publication(1, 10, 10)]
    rows += [Signal("s-1", "p-1", kind, at, 30) for at, kind in enumerate(kinds)]
    results = measure_rows(rows, [Feedback], run=run_of(2))
    assert values_of(results) == {"ack_rate": 1}
    assert series_of(results, "ack.p-1") == [2, 0]


def test_rates_are_those_at_one_publisher() -> None:
    rows: list[Row] = [publication(1, 10, 10), publication(1, 10, 10, publisher="p-2")]
    rows += [feedback("s-1", "a = 1", 100), feedback("s-1", "a = 1", 200, "p-2")]
    rows += [feedback("s-1", "a = 1", 300, "p-2")]
    results = measure_rows(rows, [Feedback], run=run_of(1))
    assert values_of(results)["feedback_rate"] == 1.5
    assert series_of(results, "feedback.p-2") == [2]


def test_totals_cover_the_whole_run_and_series_the_experiment() -> None:
    rows: list[Row] = [publication(1, 10, 10), feedback("s-1", "a = 1", 2500)]
    results = measure_rows(rows, [Feedback], run=run_of(2))
    assert values_of(results) == {"feedback_frames": 1, "feedback_rate": 0.5}
    assert series_of(results, "feedback.p-1") == [0, 0]


def test_rates_need_publications_and_totals_do_not() -> None:
    assert values_of(measure_rows(FRAMES, [Feedback])) == {"feedback_frames": 3}
    tables = ["publications", "feedback", "signals"]
    nothing = values_of(measure_rows([], [Feedback], recorded=tables))
    assert nothing == {"feedback_frames": 0, "feedback_rate": 0, "ack_rate": 0}


def test_parts_of_a_run_add_up() -> None:
    rest: list[Row] = [publication(1, 10, 10), Signal("s-1", "p-1", "ack", 5, 30)]
    whole = measure_rows([*rest, *FRAMES], [Feedback], run=run_of(2))
    first = [row for row in FRAMES if row.subscriber == "s-1"]
    other = [row for row in FRAMES if row.subscriber == "s-2"]
    parts = measure_parts([[*rest, *first], other], Feedback, run=run_of(2))
    assert parts.values == whole.values
    assert series_of(parts, "feedback.p-1") == series_of(whole, "feedback.p-1")
