"""Kernels find what plain Python finds, whatever a trace looks like and however it is cut."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.kernels import METRICS
from penstock.pipeline.kernels.measure import measure
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected
from tests.pipeline.kernels.brute import Key, brute_force, keyed
from tests.pipeline.kernels.traces import Trace, random_trace, trace

RUN = "trace.1"


def found_in(
    subject: Trace, *, metrics: Iterable[str] = METRICS, piece_rows: int = 1 << 16
) -> dict[Key, float]:
    with TemporaryDirectory() as place:
        subject.write(Path(place), RUN)
        findings = measure(Path(place), RUN, metrics, piece_rows=piece_rows)
        return keyed(row for batch in findings.batches() for row in batch.to_pylist())


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([3, 1 << 16]))
def test_kernels_find_what_plain_python_finds(draw: Random, piece_rows: int) -> None:
    subject = random_trace(draw)
    assert found_in(subject, piece_rows=piece_rows) == pytest.approx(brute_force(subject))


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_a_kernel_finds_the_same_alone_as_among_all(draw: Random) -> None:
    subject = random_trace(draw)
    alone = [found_in(subject, metrics=[metric]) for metric in METRICS]
    assert found_in(subject) == {key: value for found in alone for key, value in found.items()}


def delivery(seq: int, at_ms: int, *, fate: ReceiverFate = ReceiverFate.DELIVERED) -> Delivery:
    at = at_ms * MILLISECOND
    ended = at if fate is not ReceiverFate.DROPPED_LATE else None
    return Delivery("default", "s-1", "p-1", 0, seq, 0, at, ended, None, fate)


def test_rows_out_of_order_are_put_in_order_of_time_and_counted() -> None:
    figures = found_in(trace(delivery(1, 10), delivery(3, 30), delivery(2, 20)))
    assert figures["figures", "default", "violations", None] == 0
    assert figures["figures", "default", "unsorted_rows", None] == 1


def test_rows_of_equal_time_stay_as_they_stand() -> None:
    rows = [delivery(5, 30), delivery(2, 10), delivery(1, 10), delivery(3, 20)]
    figures = found_in(trace(*rows), piece_rows=2)
    assert figures["figures", "default", "violations", None] == 1


def test_a_fall_between_two_pieces_is_seen() -> None:
    rows = [delivery(1, 10), delivery(2, 20), delivery(3, 15), delivery(4, 30)]
    assert found_in(trace(*rows), piece_rows=2)["figures", "default", "unsorted_rows", None] == 1


def test_a_message_dropped_as_late_is_a_false_negative_and_no_violation() -> None:
    rows = [delivery(2, 10), delivery(1, 20, fate=ReceiverFate.DROPPED_LATE)]
    wanted = [Expected("p-1", 0, seq, "s-1", 0) for seq in (1, 2)]
    figures = found_in(trace(*rows, *wanted))
    assert figures["figures", "default", "false_negatives", None] == 1
    assert figures["figures", "default", "violations", None] == 0
    assert figures["figures", "default", "late_drops", None] == 1


def test_another_epoch_begins_its_numbers_anew() -> None:
    rows = [Arrival("s-1", "p-1", epoch, seq, 0, 9, 1, False) for epoch, seq in ((0, 5), (1, 0))]
    assert found_in(trace(*rows))["figures", "", "violations", None] == 0


def test_inversions_reach_back_no_further_than_the_window() -> None:
    rows = [delivery(seq, 1) for seq in (*range(1, 101), 0)]
    for piece_rows in (7, 1000):
        figures = found_in(trace(*rows), metrics=["inversions"], piece_rows=piece_rows)
        assert figures == {("figures", "default", "inversions", None): 64}


def test_a_run_without_tables_has_no_figures() -> None:
    assert found_in(trace()) == {}


def test_only_the_tables_that_a_metric_needs_are_read(tmp_path: Path) -> None:
    trace(delivery(1, 10), recorded=[Expected]).write(tmp_path, RUN)
    (tmp_path / f"run={RUN}" / "expected.parquet").write_bytes(b"no Parquet")
    measure(tmp_path, RUN, ["order"])
    with pytest.raises(UsageError, match=r"expected\.parquet is damaged"):
        measure(tmp_path, RUN, ["rates"])


def test_a_number_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(UsageError, match="32 bits"):
        found_in(trace(delivery(1 << 32, 10)))


def test_a_metric_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no metric 'speed': choose from rates, order"):
        found_in(trace(), metrics=["speed"])
