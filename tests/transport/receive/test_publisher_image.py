"""Which numbers came, against a plain set of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.transport.receive.publisher_image import WINDOW_SIZE, PublisherImage
from tests.transport.harness import published

FIRST = published([1])[0]


@settings(max_examples=200)
@given(st.lists(st.integers(-30, 30), max_size=200))
def test_a_number_comes_for_the_first_time_once(steps: list[int]) -> None:
    arrivals = PublisherImage(FIRST)
    known: set[int] = set()
    number = 0
    for step in (0, *steps):
        number += step
        assert arrivals.add(number) == (number not in known)
        known.add(number)
        assert arrivals.highest == max(known)
        assert all(arrivals.contains(n) == (n in known) for n in range(number - 40, number + 1))


@given(st.lists(st.integers(0, 3 * WINDOW_SIZE), max_size=50))
def test_what_is_too_old_to_tell_is_never_taken(numbers: list[int]) -> None:
    arrivals = PublisherImage(FIRST)
    known: set[int] = set()
    for number in (0, *numbers):
        is_first = arrivals.add(number)
        assert not (is_first and number in known)
        if not is_first and number not in known:
            assert arrivals.is_too_old(number)
        known.add(number)


def test_numbers_that_wrap_go_on() -> None:
    arrivals = PublisherImage(FIRST)
    assert arrivals.unwrap(5) == 5
    assert arrivals.unwrap(2**32 - 1) == -1
    arrivals.add(2**31 - 1)
    arrivals.add(2**32 - 1)
    assert arrivals.unwrap(0) == 2**32
    assert arrivals.unwrap(2**32 - 5) == 2**32 - 5


def test_a_long_run_takes_no_memory() -> None:
    arrivals = PublisherImage(FIRST)
    for number in range(100_000):
        assert arrivals.add(number)
    arrivals.add(10**9)
    # It is too far back to tell, and so nothing to wait for.
    assert arrivals.contains(99_999)
    assert arrivals.is_too_old(99_999)
