"""Loops of parents are told once, with what to do."""

from __future__ import annotations

from penstock.guaranteed.announcements import DISTANCE_MAX
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.parent_loops import ParentLoops
from penstock.wire.frames.guaranteed.hello import Announcement


def announced(distance: int, stream: str = "orders") -> Announcement:
    return Announcement(pubend=1, stream=stream, distance=distance, lease=0)


def test_a_neighbour_on_both_sides_is_told_once() -> None:
    told: list[Alarm] = []
    loops = ParentLoops(told.append)
    loops.neighbours(["p", "both"], ["c"])
    assert not told
    for _ in range(3):
        loops.neighbours(["p", "both"], ["c", "both"])
    (alarm,) = told
    assert alarm.kind == "loop"
    assert alarm.text == (
        "broker 'both' is parent and child of this one: leave --parent out at one"
    )


def test_a_stream_that_comes_back_is_told_once_and_neighbours_as_such() -> None:
    told: list[Alarm] = []
    loops = ParentLoops(told.append)
    loops.comes_back(announced(2), "both", ["both"])
    assert not told
    for stream in ("orders", "trades"):
        loops.comes_back(announced(2, stream), "p", ["both"])
    (alarm,) = told
    assert alarm.kind == "loop"
    assert alarm.text == (
        "parent 'p' has 'orders' of this broker: end the loop of parents, or the copy of this"
        " broker"
    )


def test_a_stream_that_is_too_far_away_is_told_once() -> None:
    told: list[Alarm] = []
    loops = ParentLoops(told.append)
    loops.announced("p", [announced(DISTANCE_MAX)])
    assert not told
    for distance in (DISTANCE_MAX + 1, 255):
        loops.announced("p", [announced(distance), announced(0, "near")])
    (alarm,) = told
    assert alarm.text == (
        "parent 'p' has stream 'orders' from over 16 brokers away: if parents form a loop, end it"
    )
    loops.not_passed_on([announced(DISTANCE_MAX + 1, "trades")])
    assert "'trades'" in told[1].text
    assert "too far for children" in told[1].text
    assert all("\n" not in each.text and len(each.text) <= 100 for each in told)
