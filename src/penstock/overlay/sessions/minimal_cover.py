"""The filters that no other covers, kept up as filters come and go.

Whatever covers a filter has no bit that the filter lacks. So two integers tell
for most pairs that neither covers the other, and few are compared exactly; a
change costs one pass over integers, where `covering.minimal`, the twin of this,
would look at all filters anew.
"""

from penstock.content.covering import covers
from penstock.content.filter import Filter
from penstock.content.tags import Encoder


class MinimalCover:
    """Every filter added is shown, or hidden behind one shown that covers it exactly. [C9]"""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._minimal: dict[Filter, int] = {}
        self._covered_by: dict[Filter, Filter] = {}
        self._covered: dict[Filter, list[Filter]] = {}

    def filters(self) -> dict[Filter, int]:
        """The filters that no other covers, with their Bloom sets."""
        return self._minimal

    def add(self, f: Filter) -> None:
        """One more filter, which must not be there yet."""
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
        """One less; what was hidden behind it alone comes forward."""
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
