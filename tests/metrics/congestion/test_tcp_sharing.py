"""Shares of a link, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec import structs

from penstock.kernel.instant import SECOND
from penstock.metrics.congestion.tcp_sharing import TcpSharing, reached
from penstock.metrics.results import Results
from penstock.trace.records import LinkSample, Row, TcpSample
from tests.metrics.congestion.made import run_of
from tests.metrics.measured import measure_rows, series_of, values_of

PERIOD = SECOND // 4
MEGABIT = 1_000_000
# What crosses a link of a megabit in a quarter of a second.
FULL_BYTES = MEGABIT // 8 // 4


def link(
    number: int, own_bytes: int, name: str = "B1-B2", capacity_bps: int | None = MEGABIT
) -> LinkSample:
    at = (number + 1) * PERIOD
    return LinkSample(at, name, PERIOD, capacity_bps, own_bytes, 1, 0, 0, 0, 0)


def tcp(number: int, own_bytes: int, name: str = "t", on: str = "B1-B2") -> TcpSample:
    return TcpSample((number + 1) * PERIOD, name, on, own_bytes, own_bytes, 1, 2, 3.0, None)


def seen(rows: Sequence[Row], seconds: int, **measure: object) -> Results:
    return measure_rows(rows, [TcpSharing], run=run_of(seconds, **measure))


def test_content_is_everything_but_tcp() -> None:
    rows = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, FULL_BYTES * 2 // 5))]
    results = seen(rows, 2)
    values = values_of(results)
    assert values["tcp_kbps.t"] == pytest.approx(400)
    assert values["content_kbps"] == pytest.approx(600)
    assert values["share_difference"] == pytest.approx(-0.2)
    assert (values["tcp_resent.t"], values["tcp_timeouts.t"]) == (8, 16)
    assert series_of(results, "content_kbps") == pytest.approx([600, 600])
    assert series_of(results, "tcp_kbps.t") == pytest.approx([400, 400])


def test_of_several_connections_the_mean_is_compared_and_other_links_are_not() -> None:
    rows: list[Row] = []
    for i in range(8):
        rows += [link(i, FULL_BYTES), link(i, 7, "B2-B1")]
        rows += [tcp(i, FULL_BYTES // 5, "a"), tcp(i, FULL_BYTES * 2 // 5, "b")]
        rows.append(tcp(i, 5, "c", "B2-B1"))
    values = values_of(seen(rows, 2))
    assert values["content_kbps"] == pytest.approx(400)
    assert values["share_difference"] == pytest.approx(0.3 - 0.4)
    assert "tcp_kbps.c" not in values


def test_a_sample_of_no_time_does_not_count() -> None:
    rows = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, FULL_BYTES // 2))]
    empty = structs.replace(link(0, 5), period_ns=0)
    assert seen([empty, *rows], 2).values == seen(rows, 2).values
    assert not seen([empty, tcp(0, 5)], 2).values


def test_each_phase_has_its_rates() -> None:
    rows = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, (i > 3) * FULL_BYTES))]
    values = values_of(seen(rows, 2, phases={"before": (0, 1), "after": (1, 2)}))
    assert values["content_kbps.before"] == values["tcp_kbps.t.after"] == pytest.approx(1000)
    assert (values["share_difference.before"], values["share_difference.after"]) == (-1, 1)


def test_what_happens_outside_the_experiment_does_not_count() -> None:
    rows = [link(i, FULL_BYTES) for i in range(12)] + [tcp(i, 0) for i in range(12)]
    results = seen(rows, 2)
    assert values_of(results)["content_kbps"] == pytest.approx(1000)
    assert len(series_of(results, "content_kbps")) == 2


def test_content_has_adapted_when_it_has_given_way_to_the_connection() -> None:
    rows: list[Row] = []
    for i in range(80):
        # The connection begins after 10 s, and content gives way 3 s later.
        share = 0 if i < 40 else 1 if i < 52 else 4
        rows += [link(i, FULL_BYTES), tcp(i, FULL_BYTES * share // 10)]
    values = values_of(seen(rows, 20))
    assert values["content_adapted_after"] == pytest.approx(3.5)
    assert values["tcp_risen_after.t"] == pytest.approx(3.5)


def test_content_that_does_not_give_way_never_adapts() -> None:
    rows = [row for i in range(40) for row in (link(i, FULL_BYTES), tcp(i, FULL_BYTES // 10))]
    values = values_of(seen(rows, 10))
    assert values["content_adapted_after"] == values["tcp_risen_after.t"] == 10


def test_without_a_connection_there_is_nothing_to_compare() -> None:
    results = seen([link(i, FULL_BYTES) for i in range(8)], 2)
    assert not results.values
    assert not results.series
    idle = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, 0))]
    assert "content_adapted_after" not in values_of(seen(idle, 2))


def test_a_link_without_a_limit_has_rates_and_no_fair_shares() -> None:
    rows: list[Row] = []
    for i in range(8):
        rows += [link(i, FULL_BYTES, capacity_bps=None), tcp(i, FULL_BYTES // 2)]
    values = values_of(seen(rows, 2))
    assert values["content_kbps"] == pytest.approx(500, rel=1e-3)
    assert "share_difference" not in values
    assert "content_adapted_after" not in values


def test_what_is_reached_for_a_moment_alone_is_not_reached() -> None:
    margins = np.array([-1.0, -1.0, 0.5, -1.0, 0.5, 0.5])
    assert reached(margins, 1) == 3
    assert reached(margins, 2) == 6
    assert reached(margins[:4], 2) == 4
    assert reached(margins[:1] + 2, 2) == 1
