"""The counting of lost and doubled messages can fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.guaranteed.processes.checker import problems_of

LIFE = {"life": True}


def got(*numbers: int, attempt: int = 1) -> dict[str, Any]:
    return {"got": [[number, attempt] for number in numbers]}


def problems(*rows: dict[str, Any], keeps_checkpoints: bool = False) -> list[str]:
    return problems_of(
        rows, confirmed=5, wanted=lambda n: n != 4, keeps_checkpoints=keeps_checkpoints
    )


SOUND = [
    [LIFE, got(1, 2, 3, 5)],
    # The publisher was killed before it heard of 6.
    [LIFE, got(1, 2, 3, 5, 6)],
    [LIFE, got(1, 2), {"acknowledged": 2}, LIFE, got(3, 5)],
    [LIFE, got(1, 2), {"acknowledged": 1}, LIFE, got(2, attempt=2), got(3, 5)],
]
WRONG = {
    "lost: 1 from 5 on": [LIFE, got(1, 2, 3)],
    "[2] lost before 3": [LIFE, got(1, 3, 5)],
    "it came before in this life": [LIFE, got(1, 2, 2, 3, 5)],
    "it was acknowledged": [LIFE, got(1), {"acknowledged": 1}, LIFE, got(1, 2, 3, 5, attempt=2)],
    "attempt 1": [LIFE, got(1), LIFE, got(1, 2, 3, 5)],
    "4 is not wanted": [LIFE, got(1, 2, 3, 4, 5)],
    "1 came behind 2": [LIFE, got(2, 1, 3, 5)],
}


@pytest.mark.parametrize("rows", SOUND)
def test_sound_journals_pass(rows: list[dict[str, Any]]) -> None:
    assert problems(*rows) == []


@pytest.mark.parametrize("what", WRONG)
def test_each_wrong_is_named(what: str) -> None:
    assert any(what in line for line in problems(*WRONG[what]))


def test_nothing_comes_again_below_a_checkpoint() -> None:
    rows = [LIFE, got(1), LIFE, got(1, 2, 3, 5, attempt=2)]
    assert problems(*rows) == []
    assert problems(*rows, keeps_checkpoints=True) == [
        "life 2: 1 is doubled: it is below the checkpoint"
    ]
