"""Messages by their fate at the source."""

from __future__ import annotations

from penstock.metrics.congestion.source_fates import SourceFates
from tests.metrics.congestion.made import publication, run_of
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts

# One is sent at once, one is held back for 300 ms, one is dropped.
ROWS = [publication(1, 10, 10), publication(2, 900, 1200), publication(None, 950, None)]


def test_a_message_counts_when_it_leaves_or_when_it_was_offered_if_it_never_does() -> None:
    results = measure_rows(ROWS, [SourceFates], batch_rows=2, run=run_of(2))
    assert values_of(results) == {
        "offered": 3,
        "sent": 2,
        "rate_limited": 1,
        "dropped_at_source": 1,
        "held_mean": 150,
    }
    assert series_of(results, "offered") == [3, 0]
    assert series_of(results, "sent") == [1, 1]
    assert series_of(results, "rate_limited") == [0, 1]
    assert series_of(results, "dropped_at_source") == [1, 0]


def test_totals_cover_the_whole_run_and_series_the_experiment() -> None:
    results = measure_rows([*ROWS, publication(3, 2500, 2500)], [SourceFates], run=run_of(2))
    assert values_of(results)["sent"] == 3
    assert series_of(results, "sent") == [1, 1]


def test_each_phase_has_its_rate_of_messages_sent() -> None:
    # The second phase exceeds the experiment: what is sent outside does not count.
    run = run_of(2, phases={"first": (0, 1), "rest": (0, 4)})
    results = measure_rows([*ROWS, publication(3, 2500, 2500)], [SourceFates], run=run)
    values = values_of(results)
    assert values["publication_rate.first"] == 1
    assert values["publication_rate.rest"] == 2 / 4
    assert "publication_rate" not in values


def test_a_table_without_rows_gives_zeros_and_a_missing_one_nothing() -> None:
    recorded = measure_rows([], [SourceFates], run=run_of(2), recorded=["publications"])
    assert set(values_of(recorded).values()) == {0}
    assert series_of(recorded, "sent") == [0, 0]
    assert not measure_rows([], [SourceFates], run=run_of(2)).values


def test_parts_of_a_run_add_up() -> None:
    run = run_of(2, phases={"first": (0, 1)})
    whole = measure_rows(ROWS, [SourceFates], run=run)
    assert measure_parts([ROWS, []], SourceFates, run=run).values == whole.values
    assert measure_parts([ROWS[:1], ROWS[1:]], SourceFates, run=run).values == whole.values
