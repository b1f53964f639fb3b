"""How far a subscription has handed messages over, so that each can say its checkpoint later.

A message refers to a map of the pubends other than its own. The map is never changed: as long as
messages come from one pubend, all of them share it, and none costs a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class ReadPositions:
    """Of one subscription."""

    def __init__(self, positions: Iterable[tuple[int, int]]) -> None:
        self._others: Mapping[int, int] = dict(positions)
        self._pubend = -1
        self._tick = -1

    def begin(self, positions: Iterable[tuple[int, int]]) -> None:
        """Where the host begins, for pubends of which nothing is known."""
        self._others = {**dict(positions), **self._others}

    def advance(self, pubend: int, tick: int) -> Mapping[int, int]:
        """A message is handed over; returns how far the others have been read."""
        if pubend != self._pubend:
            others = dict(self.all())
            others.pop(pubend, None)
            self._others, self._pubend = others, pubend
        self._tick = tick
        return self._others

    def all(self) -> Mapping[int, int]:
        """How far every pubend has been read."""
        if self._pubend < 0:
            return self._others
        return {**self._others, self._pubend: self._tick}

    def clear(self) -> None:
        """Reading begins somewhere else."""
        self._others = {}
        self._pubend = self._tick = -1

    def go_back(self, positions: Mapping[int, int]) -> None:
        """What lies behind these positions is handed over again."""
        self._others = {
            pubend: min(tick, positions.get(pubend, tick)) for pubend, tick in self.all().items()
        }
        self._pubend = self._tick = -1
