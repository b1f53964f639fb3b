"""The filters that no other filter covers, updated incrementally.

A filter that covers another has a subset of its Bloom bits. Comparing two integers therefore
excludes most pairs, and few are compared exactly. A change costs one pass over integers, while the
naive twin, `covering.minimal`, compares all filters again.
"""

from penstock.content.covering import covers
from penstock.content.filter import Filter
from penstock.content.tags import Encoder


class MinimalCover:
    """Every filter is either minimal or covered exactly by a minimal one. [C9]"""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._minimal: dict[Filter, int] = {}
        self._covered_by: dict[Filter, Filter] = {}
        self._covered: dict[Filter, list[Filter]] = {}

    def filters(self) -> dict[Filter, int]:
        """The minimal filters with their Bloom sets."""
        return self._minimal

    def add(self, f: Filter) -> None:
        """Adds a filter, which must not be present."""
        bits = self._encoder.filter_bits(f)
        covered = []
        for other, other_bits in self._minimal.items():
            common = other_bits & bits
            if common == other_bits and covers(other, f):
                self._set_cover(f, cover=other)
                return
            if common == bits and covers(f, other):
                covered.append(other)
        self._minimal[f] = bits
        for other in covered:
            del self._minimal[other]
            for narrower in self._covered.pop(other, []):
                self._set_cover(narrower, cover=f)
            self._set_cover(other, cover=f)

    def remove(self, f: Filter) -> None:
        """Removes a filter; filters that only it covered become minimal."""
        cover = self._covered_by.pop(f, None)
        if cover is not None:
            self._covered[cover].remove(f)
            return
        del self._minimal[f]
        for narrower in self._covered.pop(f, []):
            del self._covered_by[narrower]
            self.add(narrower)

    def _set_cover(self, f: Filter, *, cover: Filter) -> None:
        self._covered_by[f] = cover
        self._covered.setdefault(cover, []).append(f)
