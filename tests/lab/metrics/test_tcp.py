"""Shares of a link, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from penstock.kernel.instant import SECOND
from penstock.lab.metrics.tcp import Tcp, reached
from penstock.trace.records import LinkSample, Row, TcpSample
from tests.lab.metrics.batches import context, feed

PERIOD = SECOND // 4
MEGABIT = 1_000_000
# What crosses a link of a megabit in a quarter of a second.
FULL_BYTES = MEGABIT // 8 // 4


def link(number: int, own_bytes: int, name: str = "B1-B2") -> LinkSample:
    return LinkSample((number + 1) * PERIOD, name, PERIOD, MEGABIT, own_bytes, 1, 0, 0, 0, 0)


def tcp(number: int, own_bytes: int, name: str = "t", on: str = "B1-B2") -> TcpSample:
    return TcpSample((number + 1) * PERIOD, name, on, own_bytes, own_bytes, 1, 2, 3.0, None)


def seen(rows: Sequence[Row], seconds: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    metric = Tcp(context(seconds=seconds))
    feed(metric, rows)
    return {name: figure.value for name, figure in metric.figures().items()}, metric.series()


def test_content_is_what_is_not_tcps() -> None:
    rows = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, FULL_BYTES * 2 // 5))]
    figures, series = seen(rows, 2)
    assert figures["tcp_kbps.t"] == pytest.approx(400)
    assert figures["content_kbps"] == pytest.approx(600)
    assert figures["share_difference"] == pytest.approx(-0.2)
    assert (figures["tcp_resent.t"], figures["tcp_timeouts.t"]) == (8, 16)
    assert series["content_kbps"] == pytest.approx([600, 600])
    assert series["tcp_kbps.t"] == pytest.approx([400, 400])


def test_of_several_connections_the_mean_is_compared_and_other_links_are_not() -> None:
    rows: list[Row] = []
    for i in range(8):
        rows += [link(i, FULL_BYTES), link(i, 7, "B2-B1")]
        rows += [tcp(i, FULL_BYTES // 5, "a"), tcp(i, FULL_BYTES * 2 // 5, "b")]
        rows.append(tcp(i, 5, "c", "B2-B1"))
    figures, _ = seen(rows, 2)
    assert figures["content_kbps"] == pytest.approx(400)
    assert figures["share_difference"] == pytest.approx(0.3 - 0.4)
    assert "tcp_kbps.c" not in figures


def test_what_happens_outside_the_experiment_does_not_count() -> None:
    rows = [link(i, FULL_BYTES) for i in range(12)] + [tcp(i, 0) for i in range(12)]
    figures, series = seen(rows, 2)
    assert figures["content_kbps"] == pytest.approx(1000)
    assert len(series["content_kbps"]) == 2


def test_content_has_adapted_when_it_has_given_way_to_the_connection() -> None:
    rows: list[Row] = []
    for i in range(80):
        # The connection begins after 10 s, and content gives way 3 s later.
        share = 0 if i < 40 else 1 if i < 52 else 4
        rows += [link(i, FULL_BYTES), tcp(i, FULL_BYTES * share // 10)]
    figures, _ = seen(rows, 20)
    assert figures["content_adapted_after"] == pytest.approx(3.5)
    assert figures["tcp_risen_after.t"] == pytest.approx(3.5)


def test_content_that_does_not_give_way_never_adapts() -> None:
    rows = [row for i in range(40) for row in (link(i, FULL_BYTES), tcp(i, FULL_BYTES // 10))]
    figures, _ = seen(rows, 10)
    assert figures["content_adapted_after"] == figures["tcp_risen_after.t"] == 10


def test_without_a_connection_there_is_nothing_to_tell() -> None:
    assert seen([link(i, FULL_BYTES) for i in range(8)], 2) == ({}, {})
    idle = [row for i in range(8) for row in (link(i, FULL_BYTES), tcp(i, 0))]
    assert "content_adapted_after" not in seen(idle, 2)[0]


def test_what_is_reached_for_a_moment_alone_is_not_reached() -> None:
    sides = np.array([-1.0, -1.0, 0.5, -1.0, 0.5, 0.5])
    assert reached(sides, 1) == 3
    assert reached(sides, 2) == 6
    assert reached(sides[:4], 2) == 4
    assert reached(sides[:1] + 2, 2) == 1
