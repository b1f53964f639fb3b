"""Which segments asked for which packets, generation by generation.

Errata P1: NAKs of a generation are what the next one is forwarded by, and arrive until then, so
there are two slots, tagged by generation; a new generation takes the older one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final


class NakTable:
    """Packet numbers by segment, for two generations."""

    def __init__(self) -> None:
        self._slots: Final[dict[int, dict[int, dict[int, None]]]] = {}
        self.latest = -1

    def begin(self, generation: int) -> bool:
        """Opens a generation; False if it is open already."""
        if generation <= self.latest:
            return False
        self.latest = generation
        for old in [old for old in self._slots if old < generation - 1]:
            del self._slots[old]
        self._slots[generation] = {}
        return True

    def has(self, generation: int) -> bool:
        """Whether NAKs of a generation were, or are, gathered."""
        return generation in self._slots

    def add(self, generation: int, segment: int, numbers: Iterable[int]) -> bool:
        """Notes a NAK; False if its generation is too old, or not open yet."""
        slot = self._slots.get(generation)
        if slot is None:
            return False
        slot.setdefault(segment, {}).update(dict.fromkeys(numbers))
        return True

    def asked(self, generation: int, segment: int) -> Mapping[int, None]:
        """The packets that a segment asked for, as keys."""
        return self._slots.get(generation, {}).get(segment, {})

    def asked_by_anyone(self, generation: int) -> list[int]:
        """The union over all segments, ascending."""
        union: dict[int, None] = {}
        for numbers in self._slots.get(generation, {}).values():
            union.update(numbers)
        return sorted(union)
