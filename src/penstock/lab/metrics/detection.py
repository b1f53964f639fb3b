"""How well each ordering tells losses from gaps: against what really never came.

A message is missed when a subscriber's exact predicate matches it and it never
arrives there. A loss that is declared is right when its message is missed.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.base import Context, Figure, Ints, Metric, Seen, spread
from penstock.lab.metrics.codes import FlowNumbers, NameNumbers
from penstock.trace.batch import Batch
from penstock.trace.fates import ReceiverFate

# A message at a subscriber in one number: its flow, and 32 bits of its own.
_SEQ_BITS: Final = 32
_GIVEN_UP: Final = ReceiverFate.GIVEN_UP.value


class Detection(Metric):
    """Precision and recall of declared losses."""

    TABLES: ClassVar[tuple[str, ...]] = ("expected", "arrivals", "losses")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._flows = FlowNumbers()
        self._orderings = NameNumbers(context.orderings)
        self._expected: list[Ints] = []
        self._published: list[Ints] = []
        self._arrived: list[Ints] = []
        self._losses: dict[str, list[Ints]] = {
            name: [] for name in ("message", "ordering", "after", "lost", "came")
        }

    def take(self, batch: Batch) -> None:
        """Keeps who was to get what, who got it, and which losses were declared."""
        columns = batch.columns
        messages = self._flows.of(batch) << _SEQ_BITS | columns["seq"].values
        if batch.table.name == "expected":
            self._expected.append(messages)
            self._published.append(columns["published_ns"].values)
        elif batch.table.name == "arrivals":
            self._arrived.append(messages)
        else:
            lost, is_declared = columns["lost_ns"], columns["lost_ns"].valid
            declared: NDArray[np.bool_] = (
                np.ones(batch.rows, np.bool_) if is_declared is None else is_declared
            )
            ends = columns["resolution"]
            came = np.array([name != _GIVEN_UP for name in ends.names or ()])[ends.values]
            rows = {
                "message": messages,
                "ordering": self._orderings.of(columns["ordering"]),
                "after": lost.values - columns["detected_ns"].values,
                "lost": lost.values,
                "came": came.astype(np.int64),
            }
            for name, values in rows.items():
                self._losses[name].append(values[declared])

    def figures(self) -> dict[str, Figure]:
        """How many there were to be found."""
        return {"missed": Figure(self._missed()[0].size, "deliveries")}

    def of_orderings(self) -> dict[str, Seen]:
        """Each ordering's declarations."""
        missed, published = self._missed()
        losses = {name: spread(batches) for name, batches in self._losses.items()}
        return {
            name: Seen(
                _figures(
                    {c: v[losses["ordering"] == n] for c, v in losses.items()}, missed, published
                )
            )
            for n, name in enumerate(self.context.orderings)
        }

    def _missed(self) -> tuple[Ints, Ints]:
        """What never came, in rising order, and when each of it was published."""
        expected, published = spread(self._expected), spread(self._published)
        missed = ~np.isin(expected, spread(self._arrived))
        order = np.argsort(expected[missed])
        return expected[missed][order], published[missed][order]


def _figures(losses: dict[str, Ints], missed: Ints, published: Ints) -> dict[str, Figure]:
    declared = losses["message"]
    right = np.isin(declared, missed)
    found = {
        "losses_declared": Figure(declared.size, "messages"),
        "losses_right": Figure(int(right.sum()), "messages"),
        "losses_retracted": Figure(int(losses["came"].sum()), "messages"),
    }
    if declared.size:
        found["loss_precision"] = Figure(float(right.mean()))
        found["loss_declared_after"] = Figure(float(losses["after"].mean()) / MILLISECOND, "ms")
    if missed.size:
        found["loss_recall"] = Figure(np.unique(declared[right]).size / missed.size)
    if right.any():
        since_ns = losses["lost"][right] - published[np.searchsorted(missed, declared[right])]
        found["loss_declared_since"] = Figure(float(since_ns.mean()) / MILLISECOND, "ms")
    return found
