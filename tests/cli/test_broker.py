"""What `penstock broker` tells of its neighbours; `tests/live/test_commands.py` runs it."""

from __future__ import annotations

from penstock.cli.broker import NeighbourReport

A, B = "10.0.0.1:7400", "10.0.0.2:7400"
NOTHING = {"own_number": 0}


def test_a_neighbour_answers_and_falls_silent_and_answers() -> None:
    gazette = NeighbourReport(1, {A: False, B: False}, 0.0)
    told = [
        (now_s, line)
        for now_s, up in ((0, ()), (1, (A,)), (2, (A,)), (5, (A,)), (6, ()), (11, ()), (30, (A,)))
        for line in gazette.changes({A: A in up, B: B in up}, NOTHING, now_s)
    ]
    question = "does it run, and does it name this broker?"
    assert told == [
        (1, f"neighbour {A} answers"),
        (5, f"neighbour {B} has been silent for 5 s: {question}"),
        (11, f"neighbour {A} has been silent for 5 s: {question}"),
        (30, f"neighbour {A} answers"),
    ]


def test_a_namesake_is_told_once() -> None:
    gazette = NeighbourReport(3, {A: False}, 0.0)
    told = [list(gazette.changes({A: False}, {"own_number": n}, float(n))) for n in range(4)]
    line = "a neighbour is number 3 too: give each broker a --number of its own"
    assert told == [[], [line], [], []]
