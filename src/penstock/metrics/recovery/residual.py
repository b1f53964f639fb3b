"""The residual probability: missing messages that came, but after the wait for them was over.

A latch promises a bound on it. A message that nobody missed (it came in order, or nothing told
of it), that never came or that came as a repair says nothing about the latch.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.fates import MissingState, ReceiverFate

_LATE: Final = frozenset({ReceiverFate.DELIVERED_LATE, ReceiverFate.DROPPED_LATE})
_CAME: Final = _LATE | {ReceiverFate.DELIVERED}
_RELEASED: Final = frozenset({MissingState.RELEASED, MissingState.LOST})


class Residual(AdditiveMetric[Batch]):
    """Missing messages of each ordering: how many came, and how many of them too late."""

    READS: ClassVar = {"losses": ("ordering", "state", "resolution")}
    OUTPUTS: ClassVar = (
        Output(
            name="missing",
            unit="messages",
            window=Window.RUN,
            meaning="known to be missing at a subscriber for some time",
        ),
        Output(
            name="missing_came",
            unit="messages",
            window=Window.RUN,
            meaning="known to be missing, and then the original came",
        ),
        Output(
            name="residual",
            unit="1",
            window=Window.RUN,
            meaning="share of missing messages that came too late, of those that came",
        ),
        Output(
            name="released_share",
            unit="1",
            window=Window.RUN,
            # Such a message may still be in time, while others hold up delivery.
            meaning="share that came after the wait for them had ended, of those that came",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By ordering: missing; of these came; of these late, and after their release.
        self._counts: Final[dict[str, list[int]]] = {}

    def update(self, batch: Batch) -> None:
        """Counts how each message stopped missing."""
        ordering, names = batch.codes("ordering"), batch.names("ordering")
        came = batch.is_one_of("resolution", _CAME)
        late = batch.is_one_of("resolution", _LATE)
        released = came & batch.is_one_of("state", _RELEASED)
        counts = [
            np.bincount(rows, minlength=len(names)).tolist()
            for rows in (ordering, ordering[came], ordering[late], ordering[released])
        ]
        for name, *its in zip(names, *counts, strict=True):
            if its[0]:
                known = self._counts.get(name, [0] * len(its))
                self._counts[name] = [a + b for a, b in zip(known, its, strict=True)]

    def tally(self, out: Tally) -> None:
        """The counts of each ordering."""
        for ordering, counts in self._counts.items():
            out.add("counts", counts, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Also of an ordering that is declared and never missed anything."""
        if not run.has("losses"):
            return
        for ordering in sorted({*run.orderings, *tally.orderings("counts")}):
            counts = tally.get("counts", ordering=ordering)
            missing, came, late, released = counts.tolist() if counts.size else (0, 0, 0, 0)
            out.add_value("missing", missing, ordering=ordering)
            out.add_value("missing_came", came, ordering=ordering)
            if came:
                out.add_value("residual", late / came, ordering=ordering)
                out.add_value("released_share", released / came, ordering=ordering)
