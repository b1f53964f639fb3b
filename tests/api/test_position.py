"""Positions: text and back, and an order within one pubend."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.confirmation import Confirmation
from penstock.api.position import U64_MAX, Position
from penstock.kernel.errors import UsageError
from penstock.wire.frames.guaranteed.subscription import Position as FramePosition

numbers = st.integers(0, U64_MAX)
positions = st.builds(Position, numbers, numbers)


@given(positions)
def test_a_position_survives_its_text(position: Position) -> None:
    text = str(position)
    assert Position.parse(text) == position
    assert re.fullmatch("[0-9a-f]{16}[.][0-9a-f]{1,16}", text)
    # Brokers write the same, and zeros in front may be left out.
    assert str(FramePosition(position.pubend, position.tick)) == text
    assert Position.parse(f"{position.pubend:x}.{position.tick:x}") == position


@given(numbers, numbers, numbers)
def test_positions_of_one_pubend_are_ordered_by_tick(pubend: int, left: int, right: int) -> None:
    one, other = Position(pubend, left), Position(pubend, right)
    assert (one < other, one <= other) == (left < right, left <= right)
    assert (one > other, one >= other) == (left > right, left >= right)
    assert (one == other) is (left == right)


def test_positions_of_two_pubends_have_no_order() -> None:
    with pytest.raises(
        UsageError, match=r"^positions 0{15}1\.5 and 0{15}2\.5 have no order: compare"
    ):
        sorted([Position(2, 5), Position(1, 5)])
    with pytest.raises(UsageError, match="7 is no position"):
        assert Position(1, 5) < 7  # type: ignore[operator]
    assert Position(1, 5) != Position(2, 5)


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".1", "1.2.3", "g.1", "1.1\n", "-1.1", "1" * 17 + ".1"]
)
def test_nonsense_is_no_position(text: str) -> None:
    with pytest.raises(UsageError, match="is no position: write one as it was printed"):
        Position.parse(text)


@pytest.mark.parametrize("number", [-1, U64_MAX + 1, 1.0, True, "1"])
def test_numbers_have_64_bits(number: Any) -> None:
    with pytest.raises(UsageError, match="tick is a number of 64 bits"):
        Position(1, number)


@given(positions)
def test_a_position_in_something_that_is_printed_is_as_it_is_written(position: Position) -> None:
    assert repr(position) == f"Position.parse('{position}')"
    assert eval(repr(position)) == position
    confirmation = Confirmation(position=position, is_duplicate=False, confirmed_ns=1)
    assert str(position) in str(confirmation)
