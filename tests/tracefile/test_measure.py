"""Runs in files: rows are put in order of time, and only what metrics need is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import MetricType
from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
from penstock.metrics.delivery.fifo_order import FifoOrder
from penstock.metrics.delivery.late_drops import LateDrops
from penstock.metrics.delivery.received import Received
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Delivery, Expected
from penstock.tracefile.measure import measure
from tests.metrics.brute.traces import Trace, trace
from tests.metrics.measured import values_of

RUN = "trace.1"
UNSORTED_BETWEEN_PIECES = [(1, 10), (2, 20), (3, 15), (4, 30)]


def delivered(*rows: tuple[int, int]) -> Trace:
    """Deliveries of a number at a millisecond."""
    return trace(
        *(
            Delivery(
                *("default", "s-1", "p-1", 0, seq, 0, at_ms * MILLISECOND, at_ms * MILLISECOND),
                *(None, ReceiverFate.DELIVERED),
            )
            for seq, at_ms in rows
        ),
        recorded=[Expected],
    )


def measured(
    directory: Path, subject: Trace, metric: MetricType = FifoOrder, *, piece_rows: int = 2
) -> dict[str, float]:
    subject.write(directory, RUN)
    return values_of(measure(directory, RUN, [metric], piece_rows=piece_rows), ordering="default")


def test_rows_out_of_order_are_put_in_order_of_time_and_counted(tmp_path: Path) -> None:
    found = measured(tmp_path, delivered((1, 10), (3, 30), (2, 20)), piece_rows=100)
    assert (found["violations"], found["unsorted_rows"]) == (0, 1)


def test_rows_of_equal_time_stay_as_they_stand(tmp_path: Path) -> None:
    found = measured(tmp_path, delivered((5, 30), (2, 10), (1, 10), (3, 20)))
    assert found["violations"] == 1


def test_a_fall_between_two_pieces_is_seen(tmp_path: Path) -> None:
    assert measured(tmp_path, delivered(*UNSORTED_BETWEEN_PIECES))["unsorted_rows"] == 1


def test_the_order_of_rows_does_not_matter_to_a_metric_that_reads_no_time(tmp_path: Path) -> None:
    found = measured(tmp_path, delivered(*UNSORTED_BETWEEN_PIECES), LateDrops)
    assert found == {"late_drops": 0}


def test_only_the_tables_that_a_metric_needs_are_read(tmp_path: Path) -> None:
    delivered((1, 10)).write(tmp_path, RUN)
    (tmp_path / f"run={RUN}" / "expected.parquet").write_bytes(b"no Parquet")
    measure(tmp_path, RUN, [FifoOrder])
    with pytest.raises(UsageError, match=r"expected\.parquet is damaged"):
        measure(tmp_path, RUN, [Received])


def test_a_number_of_more_than_32_bits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"deliveries has a seq .* 32 bits"):
        measured(tmp_path, delivered((1 << 32, 10)))


def test_a_run_without_tables_has_no_values(tmp_path: Path) -> None:
    trace().write(tmp_path, RUN)
    results = measure(tmp_path, RUN, [*find_metrics(DEFAULT_METRICS).values()])
    assert not results.values
    assert not results.series
