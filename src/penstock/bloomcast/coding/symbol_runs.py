"""Runs of consecutive symbol numbers, which are read and written at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def consecutive_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The numbers as ranges, in the order given; each `stop` is exclusive."""
    if not numbers:
        return
    start = stop = numbers[0]
    for number in numbers:
        if number != stop:
            yield start, stop
            start = number
        stop = number + 1
    yield start, stop
