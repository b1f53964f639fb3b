"""Reader 0 has a name of its own in a recovery, and another one for each predicate."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.host.filtered_repair import FilteredRepair
from penstock.guaranteed.host.reader_numbers import ReaderNumbers
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.requests import ReaderRequest

SOME = parse("k = 1")
OTHERS = parse("k = 2")


class Told:
    """What the pubend is told."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, Predicate | None]] = []
        self.repair = FilteredRepair(1, "s", numbers=ReaderNumbers(0), ask=self._tell)

    def _tell(self, frame: BrokerFrame) -> None:
        assert isinstance(frame, ReaderRequest)
        self.frames.append((frame.reader.number, frame.predicate))


def test_it_is_named_from_the_beginning_to_the_end_and_closed_later() -> None:
    told = Told()
    repair = told.repair
    names = [repair.reader]
    repair.begin(SOME)
    assert told.frames == [(1, SOME)]
    assert repair.owns(1)
    names.append(repair.reader)
    repair.end()
    # Answers are on their way.
    assert repair.owns(1)
    names.append(repair.reader)
    assert names == [None, ReaderId("s", 1), None]
    assert told.frames == [(1, SOME)]
    repair.close()
    assert told.frames == [(1, SOME), (1, None)]
    assert not repair.owns(1)
    repair.close()
    assert len(told.frames) == 2


def test_who_wants_more_has_it_named_anew() -> None:
    """What comes under the old name is silence to the newcomer only if it knows better."""
    told = Told()
    repair = told.repair
    repair.begin(SOME)
    assert not repair.widen(SOME)
    assert repair.widen(EVERYTHING)
    assert told.frames == [(1, SOME), (1, None), (2, EVERYTHING)]
    assert not repair.owns(1)
    assert not repair.widen(OTHERS)


def test_who_wants_more_at_the_end_ends_it() -> None:
    told = Told()
    told.repair.begin(SOME)
    told.repair.end()
    assert told.repair.widen(OTHERS)
    assert told.frames == [(1, SOME), (1, None)]


def test_another_recovery_goes_on_under_a_name_that_is_still_there() -> None:
    told = Told()
    repair = told.repair
    repair.begin(EVERYTHING)
    repair.end()
    repair.begin(SOME)
    assert repair.reader is not None
    assert told.frames == [(1, EVERYTHING)]
    repair.end()
    repair.close()
    repair.begin(SOME)
    assert told.frames[1:] == [(1, None), (2, SOME)]
