"""Collecting: batches in order, whole numbers only, nothing lost."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.trace.batch import NULL_CODE, Batch
from penstock.trace.collector import Collector
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, FlowSample
from penstock.trace.schema import TABLES


def delivery(delivered_ns: int | None, ordering: str = "none") -> Delivery:
    fate = ReceiverFate.DROPPED_LATE if delivered_ns is None else ReceiverFate.DELIVERED
    return Delivery(ordering, "s", "p", 1, 1, 0, 0, delivered_ns, None, fate)


def collected(rows: list[Delivery], batch_rows: int) -> None:
    collector = Collector(batch_rows=batch_rows)
    for row in rows:
        collector.add(row)
    collector.close()


def test_batches_are_full_but_for_the_last() -> None:
    batches: list[Batch] = []
    collector = Collector([batches.append], batch_rows=3)
    for seq in range(7):
        collector.add(Expected("p", 1, seq, "s", seq))
    collector.close()
    assert [batch.rows for batch in batches] == [3, 3, 1]
    assert np.concatenate([b.columns["seq"].values for b in batches]).tolist() == [*range(7)]


def test_names_keep_their_codes_from_batch_to_batch() -> None:
    batches: list[Batch] = []
    collector = Collector([batches.append], batch_rows=2)
    for limit in ("b", None, "a", "b"):
        collector.add(FlowSample(0, "p", "f", limit, 1.0, 1.0, 0))
    collector.close()
    codes = [code for batch in batches for code in batch.columns["limited_by"].values]
    assert codes == [0, NULL_CODE, 1, 0]
    assert batches[-1].columns["limited_by"].names == ["b", "a"]


def test_what_is_not_wanted_is_said_so() -> None:
    collector = Collector(tables=[TABLES["arrivals"]])
    assert collector.collects(Arrival)
    assert not collector.collects(Expected)


@pytest.mark.parametrize("bad", [1.0, "1", None])
def test_a_time_is_a_whole_number(bad: object) -> None:
    collector = Collector()
    collector.add(Arrival("s", "p", 1, 1, 0, bad, 3, False))  # type: ignore[arg-type]
    with pytest.raises(struct.error):
        collector.close()


@pytest.mark.parametrize("bad", [1.0, "1"])
def test_a_time_that_may_be_absent_is_a_whole_number_too(bad: object) -> None:
    collector = Collector()
    collector.add(delivery(bad))  # type: ignore[arg-type]
    with pytest.raises(struct.error):
        collector.close()


@given(st.lists(st.none() | st.integers(0, 9), max_size=8), st.integers(1, 8))
def test_rows_out_of_order_are_refused_wherever_batches_end(
    times: list[int | None], batch_rows: int
) -> None:
    known = [time for time in times if time is not None]
    rows = [delivery(time) for time in times]
    if known == sorted(known):
        collected(rows, batch_rows)
    else:
        with pytest.raises(AssertionError, match="deliveries"):
            collected(rows, batch_rows)


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_orderings_of_the_same_arrivals_each_have_their_own_order(batch_rows: int) -> None:
    one = [delivery(time, "none") for time in (1, 5, 9)]
    other = [delivery(time, "constant") for time in (2, 4, 8)]
    collected([*one, *other], batch_rows)
    with pytest.raises(AssertionError, match="deliveries"):
        collected([*one, *other, delivery(7, "constant")], batch_rows)


def test_a_batch_has_rows() -> None:
    with pytest.raises(UsageError, match="at least 1 row"):
        Collector(batch_rows=0)
