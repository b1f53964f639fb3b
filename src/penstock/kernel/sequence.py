"""Serial number arithmetic (RFC 1982) for counters that wrap around.

Does not know what is counted, or when. Results are correct while both numbers lie within half of
the number space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final


class SequenceSpace:
    """Sequence numbers of `bits` bits."""

    __slots__ = ("_half", "bits", "mask")

    def __init__(self, bits: int) -> None:
        assert bits >= 2, f"{bits} bits have no earlier and later"
        self.bits: Final = bits
        # The largest number, and the mask that wraps an extended number.
        self.mask: Final = (1 << bits) - 1
        self._half: Final = 1 << (bits - 1)

    def next(self, number: int, steps: int = 1) -> int:
        """The number `steps` later."""
        return (number + steps) & self.mask

    def distance(self, later: int, earlier: int) -> int:
        """The steps from `earlier` to `later`; negative if `later` is in fact the earlier one.

        For two exactly opposite numbers the distance is minus half of the space, in both
        directions.
        """
        half = self._half
        return ((later - earlier + half) & self.mask) - half

    def is_newer(self, left: int, right: int) -> bool:
        """Whether `left` is later than `right`; of two opposite numbers neither is."""
        return 0 < ((left - right) & self.mask) < self._half

    def unwrap(self, number: int, near: int) -> int:
        """The extended number nearest to `near` that wraps to `number`."""
        half = self._half
        return near + ((number - near + half) & self.mask) - half

    def run_to(self, last: int, count: int) -> Sequence[int]:
        """`count` consecutive numbers that end with `last`."""
        first = (last - count + 1) & self.mask
        numbers = range(first, first + count)
        if numbers.stop <= self.mask + 1:
            return numbers
        return [number & self.mask for number in numbers]

    def missing_between(self, earlier: int, later: int, *, most: int) -> Sequence[int]:
        """The numbers after `earlier` and before `later`; only the last `most` if there are more.

        A peer chooses both numbers, so `most` bounds the work.
        """
        assert most >= 0, most
        return self.run_to(later - 1, max(0, min(self.distance(later, earlier) - 1, most)))

    def runs(self, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Groups consecutive numbers into (first, count), in the order given."""
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


# Messages and digests of a publisher, and announcements of brokers.
SEQ: Final = SequenceSpace(32)
# Restarts of a publisher.
EPOCH: Final = SequenceSpace(16)
# Messages of one tracked flow.
FLOW_SEQ: Final = SequenceSpace(32)
# Packets of a broker.
PACKET: Final = SequenceSpace(32)
# Track requests of a subscriber.
TOKEN: Final = SequenceSpace(16)
# Timestamps in microseconds, as frames carry them and as receivers echo them.
STAMP: Final = SequenceSpace(48)
ECHO_STAMP: Final = SequenceSpace(32)
