"""Of messages that were known to be missing and did come: how many came after the wait was over.

That is what a latch promises a bound on. A message that nobody missed (it came in
order, or nothing told of it) or that never came says nothing of it.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.lab.metrics.base import Context, Figure, Metric, Seen
from penstock.lab.metrics.codes import NameNumbers
from penstock.trace.batch import Batch, PackedColumn
from penstock.trace.fates import MissingOutcome, MissingState, ReceiverFate

_LATE: Final = (ReceiverFate.DELIVERED_LATE, ReceiverFate.DROPPED_LATE)
_CAME: Final = (ReceiverFate.DELIVERED, *_LATE)
_RELEASED: Final = (MissingState.RELEASED, MissingState.LOST)


class Residual(Metric):
    """The probability that is left, for each ordering."""

    TABLES: ClassVar[tuple[str, ...]] = ("losses",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names = NameNumbers(context.orderings)
        self._width = max(1, len(context.orderings))
        # Of each ordering: known to be missing; of these came; of these after their release, late.
        self._missing, self._came, self._after, self._late = (
            np.zeros(self._width, np.int64) for _ in range(4)
        )

    def take(self, batch: Batch) -> None:
        """Counts lives that ended."""
        ordering = self._names.of(batch.columns["ordering"])
        resolution = batch.columns["resolution"]
        came = _is_one_of(resolution, _CAME)
        after = came & _is_one_of(batch.columns["state"], _RELEASED)
        late = _is_one_of(resolution, _LATE)
        self._missing += np.bincount(ordering, minlength=self._width)
        self._came += np.bincount(ordering[came], minlength=self._width)
        self._after += np.bincount(ordering[after], minlength=self._width)
        self._late += np.bincount(ordering[late], minlength=self._width)

    def figures(self) -> dict[str, Figure]:
        """Everything here is of an ordering."""
        return {}

    def of_orderings(self) -> dict[str, Seen]:
        """Each ordering's own."""
        return {name: self._seen(number) for number, name in enumerate(self.context.orderings)}

    def _seen(self, number: int) -> Seen:
        came = int(self._came[number])
        found = {
            "missing": Figure(int(self._missing[number]), "messages"),
            "missing_came": Figure(came, "messages"),
        }
        if came:
            found["residual"] = Figure(int(self._late[number]) / came)
            # A message may come after its own release, and in time since others still held all up.
            found["released_share"] = Figure(int(self._after[number]) / came)
        return Seen(found)


def _is_one_of(
    packed: PackedColumn, lives: tuple[MissingOutcome, ...]
) -> np.typing.NDArray[np.bool_]:
    codes = [code for code, name in enumerate(packed.names or ()) if name in lives]
    return np.isin(packed.values, codes)
