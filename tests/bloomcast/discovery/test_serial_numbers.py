"""Numbers that begin again at 0."""

from __future__ import annotations

import pytest

from penstock.bloomcast.discovery.serial_numbers import distance, is_later
from penstock.wire.frames.cast.base import Origin


@pytest.mark.parametrize(
    ("number", "behind", "expected"),
    [(5, 3, 2), (3, 5, -2), (4, 4, 0), (1, 0xFFFF, 2), (0xFFFF, 1, -2), (0x8000, 1, 0x7FFF)],
)
def test_the_shorter_way_round_counts(number: int, behind: int, expected: int) -> None:
    assert distance(number, behind, bits=16) == expected


def test_a_later_start_comes_before_any_number() -> None:
    assert is_later(Origin(7, 2, 1), Origin(7, 1, 900))
    assert not is_later(Origin(7, 1, 900), Origin(7, 2, 1))
    assert is_later(Origin(7, 1, 3), Origin(7, 1, 0xFFFF_FFFE))
    assert not is_later(Origin(7, 1, 3), Origin(7, 1, 3))
