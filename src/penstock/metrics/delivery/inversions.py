"""Inversions: pairs of messages of one stream that were received the wrong way round.

Each row is compared with the last 64 rows of its stream; pairs that are further apart are not
counted.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.codes import grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.receipts import Groups, Receipts
from penstock.trace.batch import Ints

WINDOW: Final = 64
_BELOW_ALL: Final = -1
# Windows compared at a time: half a megabyte for each thousand.
_WINDOWS_AT_ONCE: Final = 8192


class Inversions(AdditiveMetric[Receipts]):
    """Counts inversions of what arrived and of what each ordering delivered."""

    READS: ClassVar = {"receipts": ("seq",)}
    OUTPUTS: ClassVar = (
        Output(
            name="inversions",
            unit="inversions",
            window=Window.RUN,
            meaning=f"higher numbers among the {WINDOW} received before, summed over messages",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # The last numbers of each stream, the newest last.
        self._recent: Ints = np.zeros((0, WINDOW), np.int64)
        self._inversions: Counter[str] = Counter()

    def update(self, batch: Receipts) -> None:
        """Compares late rows with those before them: no other can be part of an inversion."""
        for ordering, _ in batch.by_ordering:
            self._inversions[ordering] += 0
        if not batch.rows:
            return
        groups = batch.groups
        laid_out, place = self._laid_out(groups)
        late = np.flatnonzero(batch.late[groups.order])
        code_of_late = batch.ordering[groups.order[late]]
        names = batch.codes.names("ordering")
        for code in np.flatnonzero(np.bincount(code_of_late)).tolist():
            its = late[code_of_late == code]
            self._inversions[names[code]] += _count_higher(laid_out, place[its])

    def tally(self, out: Tally) -> None:
        """Of each ordering that the trace names."""
        for ordering, count in self._inversions.items():
            out.add("inversions", count, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:  # noqa: ARG003
        """Reports the counts."""
        for ordering in tally.orderings("inversions"):
            count = tally.number("inversions", ordering=ordering)
            out.add_value("inversions", count, ordering=ordering)

    def _laid_out(self, groups: Groups) -> tuple[Ints, Ints]:
        """Each group behind the last numbers of its stream, and the place of each row there.

        So the rows before any row are one window, whichever batch they came in.
        """
        self._recent = grown(self._recent, self.run.codes.streams.count, _BELOW_ALL)
        laid_out = np.empty(len(groups.seq) + WINDOW * len(groups.begins), np.int64)
        place = np.arange(len(groups.seq)) + WINDOW * (groups.group + 1)
        laid_out[place] = groups.seq
        back = np.arange(-WINDOW, 0)
        laid_out[place[groups.begins][:, np.newaxis] + back] = self._recent[groups.stream]
        after = place[groups.ends] + 1
        self._recent[groups.stream] = laid_out[after[:, np.newaxis] + back]
        return laid_out, place


def _count_higher(laid_out: Ints, places: Ints) -> int:
    """How many higher numbers stand in the windows before these places."""
    windows = sliding_window_view(laid_out, WINDOW)
    total = 0
    for start in range(0, len(places), _WINDOWS_AT_ONCE):
        some = places[start : start + _WINDOWS_AT_ONCE]
        total += int((windows[some - WINDOW] > laid_out[some][:, np.newaxis]).sum())
    return total
