"""The filters that no other covers, kept up as filters come and go.

Whatever covers a filter has no bit that the filter lacks. So two integers tell
for most pairs that neither covers the other, and few are compared exactly; a
change costs one pass over integers, where `covering.minimal`, the twin of this,
would look at all filters anew.
"""

from penstock.content.covering import covers
from penstock.content.filter import Filter
from penstock.content.tags import Encoder


class Frontier:
    """Every filter added is shown, or hidden behind one shown that covers it exactly. [C9]"""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._shown: dict[Filter, int] = {}
        self._cover: dict[Filter, Filter] = {}
        self._hidden: dict[Filter, list[Filter]] = {}

    def shown(self) -> dict[Filter, int]:
        """The filters that no other covers, with their Bloom sets."""
        return self._shown

    def add(self, f: Filter) -> None:
        """One more filter, which must not be there yet."""
        bits = self._encoder.filter_bits(f)
        covered = []
        for other, own in self._shown.items():
            common = own & bits
            if common == own and covers(other, f):
                self._hide(f, behind=other)
                return
            if common == bits and covers(f, other):
                covered.append(other)
        self._shown[f] = bits
        for other in covered:
            del self._shown[other]
            for narrower in self._hidden.pop(other, []):
                self._hide(narrower, behind=f)
            self._hide(other, behind=f)

    def remove(self, f: Filter) -> None:
        """One less; what was hidden behind it alone comes forward."""
        cover = self._cover.pop(f, None)
        if cover is not None:
            self._hidden[cover].remove(f)
            return
        del self._shown[f]
        for narrower in self._hidden.pop(f, []):
            del self._cover[narrower]
            self.add(narrower)

    def _hide(self, f: Filter, *, behind: Filter) -> None:
        self._cover[f] = behind
        self._hidden.setdefault(behind, []).append(f)
