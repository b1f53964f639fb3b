"""Pairs of messages of one stream that stand the wrong way round.

A row is held against the last `WINDOW` rows of its stream, as during a run: what
is further back is not remembered there, and is not counted here.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.receipts import Groups, Receipts
from penstock.pipeline.kernels.rows import Ints

WINDOW: Final = 64
_NOTHING: Final = -1
# Windows looked at together: half a megabyte for each thousand.
_AT_ONCE: Final = 8192


class Inversions(Kernel):
    """Counts them for each ordering."""

    SEES_RECEIPTS: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        # The last rows of each stream, the newest last.
        self._recent: Ints = np.zeros((0, WINDOW), np.int64)
        self._inversions: Counter[int] = Counter()

    def see(self, receipts: Receipts) -> None:
        """Only what is late can be inverted."""
        groups = receipts.groups
        laid_out, place = self._laid_out(groups)
        rows = np.flatnonzero(receipts.late)
        ordering = receipts.ordering[groups.order]
        for code, _ in receipts.by_ordering:
            its = rows[ordering[rows] == code]
            self._inversions[code] += _above(laid_out, place[its])

    def tell(self, findings: Findings) -> None:
        """Of each ordering of which anything came."""
        for code, name in self.subject.orderings():
            if code in self._inversions:
                findings.figure("inversions", self._inversions[code], ordering=name)

    def _laid_out(self, groups: Groups) -> tuple[Ints, Ints]:
        """Each group after what is remembered of its stream, and where its rows stand there.

        So that what comes before a row is one window, whichever piece it was in.
        """
        self._recent = grown(self._recent, self.subject.books.streams.count, _NOTHING)
        laid_out = np.empty(len(groups.seq) + WINDOW * len(groups.begins), np.int64)
        place = np.arange(len(groups.seq)) + WINDOW * (groups.group + 1)
        laid_out[place] = groups.seq
        back = np.arange(-WINDOW, 0)
        laid_out[place[groups.begins][:, np.newaxis] + back] = self._recent[groups.stream]
        ends = place[np.append(groups.begins[1:], len(groups.seq)) - 1] + 1
        self._recent[groups.stream] = laid_out[ends[:, np.newaxis] + back]
        return laid_out, place


def _above(laid_out: Ints, places: Ints) -> int:
    """How many higher numbers stand in the windows before these places."""
    windows = sliding_window_view(laid_out, WINDOW)
    total = 0
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        total += int((windows[some - WINDOW] > laid_out[some][:, np.newaxis]).sum())
    return total
