"""What queues hold over time, by hand."""

from __future__ import annotations

from penstock.kernel.instant import SECOND
from penstock.metrics.network.queue_lengths import QueueLengths
from penstock.trace.records import QueueSample
from tests.metrics.measured import measure_rows, series_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of


def queue(at_s: float, held: int, name: str = "PB-IB") -> QueueSample:
    return QueueSample(round(at_s * SECOND), name, 1, held, None)


ROWS = [
    queue(0, 9_999),
    queue(0.5, 600),
    queue(1, 1_600),
    queue(2, 0),
    *(queue(second, 999, "IB-SB1") for second in (1, 2)),
    queue(2, 5_000, "IB-SB2"),
]


def test_samples_of_a_second_are_averaged_and_small_queues_left_out() -> None:
    results = measure_rows(ROWS, [QueueLengths], run=run_of(2))
    assert series_of(results, "queue_bytes.PB-IB") == [1_100, 0]
    assert {key.entity for key in results.series} == {"PB-IB", "IB-SB2"}
    [sparse] = [series for key, series in results.series.items() if key.entity == "IB-SB2"]
    assert sparse.seconds.tolist() == [1]


def test_without_samples_there_is_nothing() -> None:
    assert not measure_rows([], [QueueLengths], recorded=["queues"]).series


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [QueueLengths], run=run_of(2)).series
    parts = measure_parts([ROWS, []], QueueLengths, run=run_of(2)).series
    assert {key: series.values.tolist() for key, series in parts.items()} == {
        key: series.values.tolist() for key, series in whole.items()
    }
