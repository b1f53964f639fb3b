"""Receivers that learn of the losses of one pair in different ways."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.loss_knowledge import LOSS_KNOWLEDGE
from penstock.lab.metrics.loss_events import LossEvents
from penstock.metrics.run_info import RunInfo
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Expected, Publication, Row
from tests.metrics.measured import measure_rows, series_of, values_of

SECONDS = 4
EVERY = 10 * MILLISECOND
MESSAGES = SECONDS * SECOND // EVERY
RUN = RunInfo(
    id="test",
    origin=0,
    duration=SECONDS * SECOND,
    recorded=frozenset({"publications", "expected", "arrivals"}),
    measure={"pair": ["p", "s"]},
    groups={"p": ["p-1", "p-2"], "s": ["s-1", "s-2"]},
)


def sent(lost: Collection[int], *, to: str = "s-1", restart_at: int | None = None) -> Iterator[Row]:
    """Every message is wanted, and all that are not lost arrive after 20 ms."""
    for number in range(MESSAGES):
        epoch, seq = 0, number
        if restart_at is not None and number >= restart_at:
            epoch, seq = 1, number - restart_at
        at = number * EVERY
        yield Publication("p-1", epoch, seq, at, at, 100, PublisherFate.SENT, "data")
        yield Expected("p-1", epoch, seq, to, at)
        if number not in lost:
            yield Arrival(to, "p-1", epoch, seq, at, at + 20 * MILLISECOND, 1, False)


def measured(rows: Iterator[Row]) -> dict[str, float]:
    return values_of(measure_rows(rows, [LossEvents], run=RUN, batch_rows=50))


def test_an_ideal_receiver_knows_of_every_loss() -> None:
    figures = measured(sent({100, 200, 201, 202, 300}))
    assert figures["losses_known.ideal"] == figures["losses_known.numbers"] == 5
    # Records of two messages do not reach back over three losses in a row.
    assert figures["losses_known.record-2"] == 4
    assert figures["loss_events.ideal"] == 3
    assert "loss_event_share.ideal" not in figures
    assert figures["loss_event_share.numbers"] == pytest.approx(1, abs=0.1)


def test_every_kind_of_knowledge_has_series_and_values() -> None:
    results = measure_rows(sent({100}), [LossEvents], run=RUN, batch_rows=50)
    for name in LOSS_KNOWLEDGE:
        rates = series_of(results, f"loss_event_rate.{name}")
        assert len(rates) == SECONDS
        assert rates[0] == 0 < rates[-1]
        assert values_of(results)[f"loss_event_rate.{name}"] == pytest.approx(sum(rates) / SECONDS)


def test_without_losses_there_is_nothing_to_compare() -> None:
    figures = measured(sent(()))
    assert figures["loss_events.ideal"] == figures["loss_event_rate.ideal"] == 0
    assert not [name for name in figures if "share" in name]


def test_a_publisher_that_restarts_loses_nothing() -> None:
    figures = measured(sent((), restart_at=150))
    assert figures["losses_known.ideal"] == figures["losses_known.record-5"] == 0
    # The first of the new epoch are lost, and the same numbers of the old one arrived.
    figures = measured(sent({150, 151}, restart_at=150))
    assert figures["losses_known.ideal"] == 2


def test_other_pairs_are_not_looked_at() -> None:
    assert measured(sent({100}, to="s-2"))["losses_known.ideal"] == 0


def test_without_a_pair_or_a_table_nothing_is_reported() -> None:
    for run in (replace(RUN, measure={}), replace(RUN, recorded=frozenset())):
        results = measure_rows([], [LossEvents], run=run)
        assert (results.values, results.series) == ({}, {})
