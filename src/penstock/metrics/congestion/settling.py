"""How soon rates settle, and how steady they are then.

A phase has *settled* when deliveries, averaged over a quarter of a second, first come within a
tenth of their mean in its second half. What publishers send settles likewise; it does so later
where a link bears less than before. Rates that never come so close settle at the end. The *swing*
is the largest difference between a second and the mean of all, counted from ten seconds into the
phase.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output
from penstock.metrics.congestion.slots import SLOT_NS, SLOTS_PER_S, slots_of
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Ints

# Slots to average over.
_SMOOTH: Final = 5
# How close to the later mean is near, as a part of it.
_NEAR_PART: Final = 10
# Seconds of a phase that the swing leaves out, since rates may still settle.
_SETTLING_S: Final = 10
# The time of an event in each table.
_TIME_OF: Final = {"arrivals": "arrived_ns", "publications": "published_ns"}


class Settling(AdditiveMetric[Batch]):
    """When deliveries and publications settle, and how far deliveries swing."""

    READS: ClassVar = {table: (time,) for table, time in _TIME_OF.items()}
    OUTPUTS: ClassVar = (
        Output(
            name="settled_after",
            unit="s",
            phased=True,
            meaning="time until the rate of arrivals first is near that of the second half",
        ),
        Output(
            name="sent_settled_after",
            unit="s",
            phased=True,
            meaning="time until the rate of messages sent first is near that of the second half",
        ),
        Output(
            name="swing",
            unit="1",
            phased=True,
            meaning="largest difference of a second's arrivals from their mean, as a part of it",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # Arrivals and messages sent, by slot.
        self._counts = {table: np.zeros(run.seconds * SLOTS_PER_S, np.int64) for table in _TIME_OF}

    def update(self, batch: Batch) -> None:
        """Counts what arrives, or leaves, in each slot."""
        time = _TIME_OF[batch.table.name]
        slot = (batch.integers(time) - self.run.origin) // SLOT_NS
        counts = self._counts[batch.table.name]
        inside = (slot >= 0) & (slot < len(counts)) & batch.present(time)
        counts += np.bincount(slot[inside], minlength=len(counts))

    def tally(self, out: Tally) -> None:
        """Counts by slot."""
        for table, counts in self._counts.items():
            out.add(table, counts)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """The whole experiment, and each phase in which enough came."""
        came, left = tally.get("arrivals"), tally.get("publications")
        for phase, low_s, high_s in run.spans():
            part = slots_of(low_s, high_s)
            found = {
                "settled_after": settled_after_s(came[part]),
                "sent_settled_after": settled_after_s(left[part]),
                "swing": swing(came[part][_SETTLING_S * SLOTS_PER_S :]),
            }
            for name, value in found.items():
                if value is not None:
                    out.add_value(name, value, phase=phase)


def settled_after_s(slots: Ints) -> float | None:
    """Seconds until counts first are near their later mean; None if too little was counted.

    Counts that never come near it settle at the end.
    """
    second_half = slots[len(slots) // 2 :]
    if len(slots) < 2 * _SMOOTH or not second_half.any():
        return None
    # In whole numbers, so that no rounding decides a tie: both means times both counts.
    count, later = len(second_half), int(second_half.sum())
    sums = np.convolve(slots, np.ones(_SMOOTH, np.int64), mode="valid")
    is_near = _NEAR_PART * np.abs(sums * count - later * _SMOOTH) <= later * _SMOOTH
    near = np.flatnonzero(is_near)
    settled = int(near[0]) if near.size else len(slots)
    return settled / SLOTS_PER_S


def swing(slots: Ints) -> float | None:
    """How far the worst second is from the mean, as a part of it; None for less than two."""
    seconds = len(slots) // SLOTS_PER_S
    sums = slots[: seconds * SLOTS_PER_S].reshape(seconds, SLOTS_PER_S).sum(axis=1)
    if seconds < 2 or not sums.any():
        return None
    return float(np.abs(sums / sums.mean() - 1).max())
