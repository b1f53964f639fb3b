import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.wire.serial import after, distance, newer


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 0, True),
        (0, 1, False),
        (5, 5, False),
        (0, 0xFFFF, True),
        (0xFFFF, 0, False),
        (0x7FFF, 0, True),
        (0x8000, 0, False),
        (0, 0x8000, False),
    ],
)
def test_newer_across_the_wrap(left: int, right: int, expected: bool) -> None:
    assert newer(left, right, 16) is expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**31 - 1))
def test_whatever_comes_after_is_newer(number: int, steps: int) -> None:
    later = after(number, 32, steps)
    assert newer(later, number, 32)
    assert not newer(number, later, 32)
    assert distance(later, number, 32) == steps
    assert distance(number, later, 32) == -steps
