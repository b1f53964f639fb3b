"""Requests, repairs, signals and their bytes, counted by hand."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import SECOND
from penstock.metrics.histogram import BIN_MS
from penstock.metrics.recovery.requests import Requests
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Publication, Row, Signal
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up, contents
from tests.metrics.recovery.rows import repair, request

TABLES = ("publications", "requests", "repairs", "signals")


def publication(seq: int, *, size_bytes: int = 100, header_bytes: int = 0) -> Publication:
    at = seq * SECOND
    return Publication("p-1", 0, seq, at, at, size_bytes, PublisherFate.SENT, "data", header_bytes)


def never_sent() -> Publication:
    fate = PublisherFate.DROPPED_AT_SOURCE
    return Publication("p-1", 0, None, 0, None, 1000, fate, "data", 500)


def two_messages_requested() -> list[Row]:
    return [
        *(publication(0), publication(1)),
        *(request("s-1", 0, 1000), request("s-2", 0, 1010)),
        *(request("s-1", 0, 2000, times_before=1), request("s-1", 1, 3000)),
        *(repair("p-1", 0, 1100), repair("s-3", 0, 2100)),
        *(repair("s-3", 0, 2101), repair("s-4", 0, 2102)),
    ]


def test_what_is_sent_again_because_it_was_lost_is_no_duplicate() -> None:
    results = measure_rows(two_messages_requested(), [Requests])
    values = values_of(results)
    assert (values["requests"], values["repairs"]) == (4, 4)
    assert values["requests_not_duplicated"] == 3 / 4
    assert values["repairs_not_duplicated"] == 3 / 4
    assert values["messages_asked_for"] == 2
    assert values["hit_ratio"] == 0.5
    assert values["request_to_repair_mean"] == 100
    assert values["request_to_repair_p50"] == pytest.approx(100, abs=BIN_MS)
    assert values["recovery_bytes"] == (4 * 60 + 4 * 140) / 2
    assert series_of(results, "requests") == [0, 2, 1, 1, 0, 0, 0, 0, 0, 0]


def test_hits_belong_to_the_second_of_the_first_request() -> None:
    rows = [
        *(request("s-1", 1, 900), request("s-1", 2, 950), request("s-2", 1, 1100)),
        repair("p-1", 1, 1200),
    ]
    results = measure_rows(rows, [Requests])
    assert values_of(results)["hit_ratio"] == 0.5
    assert series_of(results, "messages_asked_for")[:2] == [2, 0]
    assert series_of(results, "messages_answered")[:2] == [1, 0]


def test_a_repair_of_another_epoch_is_no_answer() -> None:
    rows = [request("s-1", 1, 900), repair("p-1", 1, 1000, epoch=1)]
    values = values_of(measure_rows(rows, [Requests]))
    assert (values["hit_ratio"], values["messages_repaired"]) == (0, 1)


def test_headers_and_signals_are_what_finding_losses_costs() -> None:
    rows: list[Row] = [
        *(publication(seq, size_bytes=150, header_bytes=40) for seq in range(4)),
        never_sent(),
        *(Signal("p-1", "p-1", "digest", 1, 100), Signal("s-1", "p-1", "recall", 2, 20)),
    ]
    values = values_of(measure_rows(rows, [Requests]))
    assert (values["frame_bytes"], values["header_bytes"]) == (150, 40 + 30)
    assert "recovery_bytes" not in values, "neither requests nor repairs were recorded"


def test_repairs_that_nobody_requested_cost_bytes_and_hit_nothing() -> None:
    rows = [publication(0), repair("p-1", 0, 1100), repair("p-1", 0, 1200)]
    values = values_of(measure_rows(rows, [Requests], recorded=["requests"]))
    assert (values["repairs"], values["messages_repaired"]) == (2, 1)
    assert values["recovery_bytes"] == 2 * 140
    assert not {"hit_ratio", "repairs_not_duplicated", "request_to_repair_mean"} & values.keys()


def test_recorded_tables_without_rows_give_0() -> None:
    results = measure_rows([], [Requests], recorded=TABLES)
    counts = ("requests", "repairs", "signals", "messages_asked_for", "messages_answered")
    values = values_of(results)
    assert {values[name] for name in (*counts, "messages_repaired", "recovery_bytes")} == {0}
    for name in counts:
        assert series_of(results, name) == [0] * 10


def test_tables_that_were_not_recorded_give_nothing() -> None:
    assert not measure_rows([], [Requests]).values


def test_the_size_of_batches_does_not_matter() -> None:
    rows = two_messages_requested()
    one, other = (measure_rows(rows, [Requests], batch_rows=size) for size in (1, 100))
    assert contents(one) == contents(other)


def test_parts_add_up() -> None:
    rows = two_messages_requested()
    assert_parts_add_up(rows, Requests)
