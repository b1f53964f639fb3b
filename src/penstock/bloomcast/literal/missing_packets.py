"""What a subscriber has not received, and what each generation shows to be lost.

Packets of a generation come in order: one that comes shows that those before it, which it could
have brought, did not. Places count packets in the order of sending.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class MissingPackets:
    """Of one object."""

    def __init__(self, places: int) -> None:
        self._arrived = bytearray(places)
        # What this generation may bring, ascending, and how far it has come.
        self._expected: Sequence[int] = range(places)
        self._at = 0

    def take(self, start: int, stop: int) -> tuple[list[int], list[int]]:
        """Packets at these places have come; returns those that are new, and gaps before them."""
        arrived, expected = self._arrived, self._expected
        upto = bisect_left(expected, start, self._at)
        gaps = [place for place in expected[self._at : upto] if not arrived[place]]
        self._at = bisect_left(expected, stop, upto)
        return self.add(start, stop), gaps

    def add(self, start: int, stop: int) -> list[int]:
        """As `take`, for a packet that is late: it shows nothing of others."""
        arrived = self._arrived
        new = [place for place in range(start, stop) if not arrived[place]]
        arrived[start:stop] = b"\1" * (stop - start)
        return new

    def end_generation(self) -> list[int]:
        """The next one may bring all that is missing; returns what this one has not shown."""
        arrived, expected = self._arrived, self._expected
        tail = [place for place in expected[self._at :] if not arrived[place]]
        self._expected = [place for place in expected if not arrived[place]]
        self._at = 0
        return tail
