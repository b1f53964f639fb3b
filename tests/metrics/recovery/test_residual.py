"""Missing messages that came after all."""

from __future__ import annotations

from dataclasses import replace

from penstock.metrics.recovery.residual import Residual
from penstock.trace.fates import MissingState, ReceiverFate
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up
from tests.metrics.recovery.rows import loss

RUN = replace(TEN_SECONDS, orderings=("on", "idle"))


def lives_of_missing_messages() -> list[Row]:
    return [
        loss("on", 1, end=ReceiverFate.DELIVERED, state=MissingState.MISSING),
        loss("on", 2, end=ReceiverFate.DELIVERED, state=MissingState.RELEASED),
        loss("on", 3, end=ReceiverFate.DELIVERED_LATE, state=MissingState.RELEASED),
        loss("on", 4, 10, ReceiverFate.DROPPED_LATE, subscriber="s-2"),
        # Neither a repair nor a message that never comes says how long to wait.
        loss("on", 5, 10, ReceiverFate.REPAIRED),
        loss("on", 6, 10),
        loss("undeclared", 7, end=ReceiverFate.DELIVERED, state=MissingState.MISSING),
    ]


def test_only_originals_that_came_count() -> None:
    results = measure_rows(lives_of_missing_messages(), [Residual], run=RUN)
    assert values_of(results, ordering="on") == {
        "missing": 6, "missing_came": 4, "residual": 2 / 4, "released_share": 3 / 4,
    }  # fmt: skip
    assert values_of(results, ordering="undeclared")["residual"] == 0


def test_an_ordering_that_missed_nothing_has_counts_and_no_shares() -> None:
    results = measure_rows([], [Residual], run=RUN, recorded=["losses"])
    for ordering in RUN.orderings:
        assert values_of(results, ordering=ordering) == {"missing": 0, "missing_came": 0}


def test_without_losses_there_is_nothing_to_report() -> None:
    assert not measure_rows([], [Residual], run=RUN).values


def test_parts_add_up() -> None:
    rows = lives_of_missing_messages()
    assert_parts_add_up(rows, Residual, run=RUN)
