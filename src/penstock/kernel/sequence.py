"""Numbers that wrap around: which of two is the later one (RFC 1982), and what is between.

Knows nothing of what is numbered, nor of how long ago it was: right as long as both
numbers were counted within half of the number space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final


class SequenceSpace:
    """Numbers of so many bits."""

    __slots__ = ("_half", "bits", "mask")

    def __init__(self, bits: int) -> None:
        assert bits >= 2, f"{bits} bits have no earlier and later"
        self.bits: Final = bits
        # The largest number; and what to cut a counter with that does not wrap.
        self.mask: Final = (1 << bits) - 1
        self._half: Final = 1 << (bits - 1)

    def next(self, number: int, steps: int = 1) -> int:
        """The number that many steps later."""
        return (number + steps) & self.mask

    def distance(self, later: int, earlier: int) -> int:
        """How many steps lead from `earlier` to `later`; negative if it is the other way round.

        Of two exactly opposite numbers each is half of the space before the other.
        """
        half = self._half
        return ((later - earlier + half) & self.mask) - half

    def is_newer(self, left: int, right: int) -> bool:
        """Whether `left` was counted after `right`; of two opposite numbers neither was."""
        return 0 < ((left - right) & self.mask) < self._half

    def unwrap(self, number: int, near: int) -> int:
        """The number nearest to `near`, which does not wrap, of all that would be `number`."""
        half = self._half
        return near + ((number - near + half) & self.mask) - half

    def run_to(self, last: int, count: int) -> Sequence[int]:
        """That many numbers in a row, of which this is the last."""
        first = (last - count + 1) & self.mask
        numbers = range(first, first + count)
        if numbers.stop <= self.mask + 1:
            return numbers
        return [number & self.mask for number in numbers]

    def missing_between(self, earlier: int, later: int, *, most: int) -> Sequence[int]:
        """The numbers after `earlier` and before `later`; the last of them, if they are more.

        A peer chooses both numbers, so `most` bounds the work.
        """
        assert most >= 0, most
        return self.run_to(later - 1, max(0, min(self.distance(later, earlier) - 1, most)))

    def runs(self, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Consecutive numbers taken together, as (first, count), in the order given."""
        first = expected = count = 0
        for number in numbers:
            if count and number == expected:
                count += 1
            else:
                if count:
                    yield first, count
                first, count = number, 1
            expected = (number + 1) & self.mask
        if count:
            yield first, count


# Of a publisher's messages and digests, and of what brokers announce.
SEQ: Final = SequenceSpace(32)
# Of a publisher's lives.
EPOCH: Final = SequenceSpace(16)
# Of the messages of one flow.
FLOW_SEQ: Final = SequenceSpace(32)
# Of a broker's packets.
PACKET: Final = SequenceSpace(32)
# Of what a subscriber asks to be tracked.
TOKEN: Final = SequenceSpace(16)
# Microseconds, as frames carry them, and as they are given back.
STAMP: Final = SequenceSpace(48)
ECHO_STAMP: Final = SequenceSpace(32)
