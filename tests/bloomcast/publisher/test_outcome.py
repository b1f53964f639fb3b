"""The end of a transfer is told once, with the names of those who have failed."""

from __future__ import annotations

from penstock.bloomcast.facts import TransferFinished
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.outcome import Outcome
from penstock.kernel.machine import Deliver
from penstock.wire.frames.cast.base import FAILED_MAX, Item
from penstock.wire.frames.cast.transfer import Stop

ITEM = Item(1, 2)


def finished(*failed: int) -> TransferFinished:
    return TransferFinished(ITEM, 3, failed)


def told(out: Outbox) -> list[object]:
    found = []
    while (output := out.poll()) is not None:
        assert isinstance(output, Deliver)
        found.append(output.item)
    return found


def test_it_is_told_at_once_when_all_have_the_object() -> None:
    out = Outbox(1, 1)
    assert Outcome(out).end(finished()) == Stop(done=3)
    assert told(out) == [finished()]


def test_who_has_failed_is_named_by_the_controller() -> None:
    out = Outbox(1, 1)
    outcome = Outcome(out)
    assert outcome.end(finished(7)) == Stop(done=3, failed=(7,))
    assert told(out) == []
    outcome.named((8, 9))
    outcome.named((7,))
    outcome.tell()
    assert told(out) == [finished(8, 9)]


def test_without_an_answer_it_is_told_as_it_is() -> None:
    out = Outbox(1, 1)
    outcome = Outcome(out)
    outcome.end(finished(7))
    outcome.tell()
    assert told(out) == [finished(7)]


def test_those_that_a_frame_has_no_room_for_stay() -> None:
    out = Outbox(1, 1)
    outcome = Outcome(out)
    many = tuple(range(10, 12 + FAILED_MAX))
    assert outcome.end(finished(*many)).failed == many[:FAILED_MAX]
    outcome.named((1,))
    assert told(out) == [finished(1, *many[FAILED_MAX:])]
