"""Rates of guaranteed streams, by hand."""

from __future__ import annotations

from penstock.metrics.streams.rates import StreamRates
from penstock.trace.records import StreamSample
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of, stream

ROWS: list[StreamSample] = [
    # The end of the warm-up, and of what it has published.
    stream(0, "PB", published=99),
    stream(1, "PB", published=10),
    stream(1, "PB", published=6, pubend="PB-2"),
    stream(1, "SB1", wanted=16, delivered=12),
    stream(2, "PB", published=4),
    stream(2, "SB1", wanted=4, delivered=8),
    stream(3, "PB", published=99),
]


def test_pubends_of_a_broker_add_up() -> None:
    results = measure_rows(ROWS, [StreamRates], run=run_of(2))
    assert series_of(results, "publish_rate.PB") == [16, 4]
    assert series_of(results, "publish_rate") == [16, 4]
    assert series_of(results, "reading_rate.SB1") == [12, 8]
    values = values_of(results)
    assert values["publish_rate"] == values["publish_rate.PB"] == 10
    assert values["reading_rate.SB1"] == 10


def test_a_share_is_of_what_was_published_meanwhile() -> None:
    phases = {"early": [0, 1], "late": [1, 2]}
    values = values_of(measure_rows(ROWS, [StreamRates], run=run_of(2, phases=phases)))
    assert values["reading_share.SB1"] == 1
    assert values["reading_share.SB1.early"] == 0.75
    assert values["reading_share.SB1.late"] == 2


def test_a_broker_without_readers_has_no_share_and_one_without_pubends_publishes_nothing() -> None:
    values = values_of(measure_rows(ROWS, [StreamRates], run=run_of(2)))
    assert not {"reading_rate.PB", "reading_share.PB", "publish_rate.SB1"} & {*values}


def test_a_table_without_rows_gives_zeros_and_a_missing_one_nothing() -> None:
    recorded = measure_rows([], [StreamRates], recorded=["streams"])
    assert values_of(recorded) == {"publish_rate": 0}
    assert not measure_rows([], [StreamRates]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [StreamRates], run=run_of(2))
    assert measure_parts([ROWS, []], StreamRates, run=run_of(2)).values == whole.values
