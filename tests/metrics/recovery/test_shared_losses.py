"""Losses on a publisher's link, and which receivers notice them."""

from __future__ import annotations

from dataclasses import replace

from penstock.metrics.recovery.shared_losses import SharedLosses
from penstock.trace.fates import DropReason
from penstock.trace.records import Drop, Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of
from tests.metrics.recovery.rows import expected, loss

RUN = replace(
    TEN_SECONDS,
    orderings=("on", "deaf"),
    groups={"publishers": ["p-1"], "receivers": ["s-2", "s-1", "s-3"]},
)


def drop(seq: int | None, where: str = "p-1-hub", *, epoch: int = 0) -> Drop:
    whose = ("p-1", epoch, seq) if seq is not None else (None, None, None)
    return Drop(0, where, DropReason.LOSS, "data", 100, None, None, None, *whose)


def losses_that_all_share() -> list[Row]:
    return [
        *(expected(seq, "s-2") for seq in range(1, 6)),
        # Only what the first receiver wants counts.
        expected(9, "s-1"),
        *(drop(seq) for seq in (1, 2, 3, 4, 9)),
        # Another link, another epoch, and a packet without a message.
        *(drop(5, "hub-s-2"), drop(5, epoch=1), drop(None)),
        *(loss("on", 1, subscriber="s-2"), loss("on", 5, subscriber="s-2")),
        *(loss("on", 1, subscriber="s-1"), loss("on", 2, subscriber="s-1")),
        loss("on", 3, subscriber="s-3"),
        # Noticed in another ordering, and by nobody of the group.
        *(loss("deaf", 4, subscriber="s-3"), loss("on", 4, subscriber="s-4")),
    ]


def test_others_notice_what_the_first_receiver_does_not() -> None:
    results = measure_rows(losses_that_all_share(), [SharedLosses], run=RUN)
    assert values_of(results) == {"shared_losses": 4}
    on, deaf = (values_of(results, ordering=name) for name in RUN.orderings)
    assert on == {"detected.0": 1 / 4, "detected.1": 2 / 4, "detected.2": 3 / 4}
    assert deaf == {"detected.0": 0, "detected.1": 0, "detected.2": 1 / 4}


def test_a_packet_without_a_message_is_no_loss_of_number_0() -> None:
    rows = [expected(0, "s-2"), drop(None)]
    results = measure_rows(rows, [SharedLosses], run=RUN, recorded=["losses"])
    assert {key.flat: value for key, value in results.values.items()} == {"shared_losses": 0}


def test_a_run_without_receivers_has_no_shared_losses() -> None:
    run = replace(RUN, groups={"publishers": ["p-1"]})
    assert not measure_rows(losses_that_all_share(), [SharedLosses], run=run).values
