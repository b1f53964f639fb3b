"""The ground truth that checkers judge by."""

from __future__ import annotations

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.sim.checkers.interest_history import Wishes

LOW, HIGH = parse("a < 5"), parse("a >= 5")
ONE, NINE = Message({"a": 1}), Message({"a": 9})


def clients(wishes: Wishes, message: Message, start: int, stop: int) -> list[str]:
    return [wish.client for wish in wishes.wanting(message, start, stop)]


def test_a_wish_counts_while_it_holds() -> None:
    wishes = Wishes()
    wishes.subscribe("c1", 1, LOW, now=10)
    wishes.unsubscribe("c1", 1, now=20)
    assert clients(wishes, ONE, 10, 19) == ["c1"]
    assert clients(wishes, ONE, 9, 19) == clients(wishes, ONE, 10, 20) == []
    assert clients(wishes, NINE, 10, 19) == []


def test_what_was_taken_back_may_still_come_for_a_while() -> None:
    wishes = Wishes()
    wishes.subscribe("c1", 1, LOW, now=10)
    wishes.subscribe("c1", 1, HIGH, now=20)
    assert wishes.may_get("c1", NINE, since=25)
    assert wishes.may_get("c1", ONE, since=20)
    assert not wishes.may_get("c1", ONE, since=21)
    assert not wishes.may_get("c2", ONE, since=20)


def test_asking_again_for_the_same_changes_nothing() -> None:
    wishes = Wishes()
    wishes.subscribe("c1", 1, LOW, now=10)
    wishes.subscribe("c1", 1, LOW, now=20)
    assert clients(wishes, ONE, 10, 30) == ["c1"]


def test_who_was_away_counts_from_the_return() -> None:
    wishes = Wishes()
    wishes.subscribe("c1", 1, LOW, now=10)
    wishes.pause("c1", now=20)
    assert wishes.of("c1") == {1: LOW}
    wishes.renew("c1", now=30)
    assert clients(wishes, ONE, 10, 40) == clients(wishes, ONE, 20, 40) == []
    assert clients(wishes, ONE, 10, 19) == clients(wishes, ONE, 30, 40) == ["c1"]
