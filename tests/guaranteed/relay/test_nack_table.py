"""Who has asked a relay for what, and until when it waits for that."""

from __future__ import annotations

from penstock.guaranteed.relay.nack_table import NackTable
from penstock.kernel.instant import SECOND


def table() -> NackTable:
    return NackTable(SECOND // 2)


def test_the_parent_is_asked_once_for_all_children_until_that_is_taken_for_lost() -> None:
    nacks = table()
    assert nacks.ask("a", 10, 20, now=0) == [(10, 20)]
    assert nacks.ask("b", 15, 25, now=1) == [(20, 25)]
    assert nacks.ask("a", 10, 20, now=SECOND) == [(10, 20)]
    assert dict(nacks.answer(10, 25, now=SECOND)) == {"a": [(10, 20)], "b": [(15, 25)]}
    assert nacks.is_idle


def test_a_child_that_asks_again_is_answered_once() -> None:
    nacks = table()
    nacks.ask("a", 10, 20, now=0)
    nacks.ask("a", 14, 16, now=31 * SECOND)
    found = [each for _, ranges in nacks.answer(10, 20, now=32 * SECOND) for each in ranges]
    assert sorted(found) == [(10, 14), (14, 16), (16, 20)]
    assert nacks.is_idle


def test_nobody_waits_for_ever_for_an_answer_that_was_lost() -> None:
    """Found by the swarm: the child has got it by an earlier request, and does not ask again."""
    nacks = table()
    nacks.ask("a", 10, 20, now=29 * SECOND)
    nacks.answer(30, 40, now=59 * SECOND)
    assert nacks.ranges == 1
    nacks.answer(40, 50, now=89 * SECOND)
    assert nacks.ranges == 0
    assert nacks.is_idle
