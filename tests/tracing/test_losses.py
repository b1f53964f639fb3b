from penstock.trace.fates import MissingState, ReceiverFate
from penstock.trace.records import Loss
from penstock.tracing.losses import Losses
from penstock.transport.facts import Absence
from penstock.wire.frames.data import MessageId
from tests.tracing.rows import NAMES, ListSink

# The receiver's clock is ahead of the trace by this much.
AHEAD = 1_000
ORDERINGS = {"far": {2: "waits"}}


def test_a_missing_message_has_its_whole_history_in_the_time_of_the_trace() -> None:
    sink = ListSink()
    absence = Absence(
        2, MessageId(1, 1, 5), AHEAD + 10, "record", AHEAD + 40,
        MissingState.LOST, ReceiverFate.GIVEN_UP, AHEAD + 90,
    )  # fmt: skip
    Losses(sink.add, NAMES, ORDERINGS).on_absence("far", absence, now=90)
    assert sink.rows == [
        Loss(
            "waits", "far", "writer", 1, 5, 10, "record", 40,
            MissingState.LOST, 90, ReceiverFate.GIVEN_UP,
        )
    ]  # fmt: skip


def test_a_message_that_was_never_declared_lost_has_no_time_of_loss() -> None:
    sink = ListSink()
    absence = Absence(
        2, MessageId(1, 1, 5), AHEAD + 10, "digest", None,
        MissingState.MISSING, ReceiverFate.DELIVERED, AHEAD + 20,
    )  # fmt: skip
    Losses(sink.add, NAMES, ORDERINGS).on_absence("far", absence, now=20)
    (row,) = sink.of(Loss)
    assert row.lost_ns is None
    assert (row.found_by, row.resolution) == ("digest", "delivered")
