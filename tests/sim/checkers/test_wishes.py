"""The ground truth that checkers judge by."""

from __future__ import annotations

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.sim.checkers.interest_history import InterestHistory

LOW, HIGH = parse("a < 5"), parse("a >= 5")
ONE, NINE = Message({"a": 1}), Message({"a": 9})


def clients(interests: InterestHistory, message: Message, start: int, stop: int) -> list[str]:
    return [wish.client for wish in interests.matching(message, start, stop)]


def test_a_wish_counts_while_it_holds() -> None:
    interests = InterestHistory()
    interests.subscribe("c1", 1, LOW, now=10)
    interests.unsubscribe("c1", 1, now=20)
    assert clients(interests, ONE, 10, 19) == ["c1"]
    assert clients(interests, ONE, 9, 19) == clients(interests, ONE, 10, 20) == []
    assert clients(interests, NINE, 10, 19) == []


def test_what_was_taken_back_may_still_come_for_a_while() -> None:
    interests = InterestHistory()
    interests.subscribe("c1", 1, LOW, now=10)
    interests.subscribe("c1", 1, HIGH, now=20)
    assert interests.may_receive("c1", NINE, since=25)
    assert interests.may_receive("c1", ONE, since=20)
    assert not interests.may_receive("c1", ONE, since=21)
    assert not interests.may_receive("c2", ONE, since=20)


def test_asking_again_for_the_same_changes_nothing() -> None:
    interests = InterestHistory()
    interests.subscribe("c1", 1, LOW, now=10)
    interests.subscribe("c1", 1, LOW, now=20)
    assert clients(interests, ONE, 10, 30) == ["c1"]


def test_who_was_away_counts_from_the_return() -> None:
    interests = InterestHistory()
    interests.subscribe("c1", 1, LOW, now=10)
    interests.pause("c1", now=20)
    assert interests.predicates_of("c1") == {1: LOW}
    interests.resume("c1", now=30)
    assert clients(interests, ONE, 10, 40) == clients(interests, ONE, 20, 40) == []
    assert clients(interests, ONE, 10, 19) == clients(interests, ONE, 30, 40) == ["c1"]
