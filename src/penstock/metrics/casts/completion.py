"""How long a cast takes, how near that is to the shortest time, and what receivers missed.

Time runs from the first packet of data that leaves the publisher; what came before is the set-up.
A receiver is *late* if it asked to take part after that.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Floats, Ints


class CastCompletion(AdditiveMetric[Batch]):
    """Adds up receivers; reports nothing where there is none."""

    READS: ClassVar = {
        "cast_transfers": (
            *("asked_ns", "began_ns", "ended_ns"),
            *("sent_packets", "missed_packets", "bound_ns", "completed_ns"),
        )
    }
    OUTPUTS: ClassVar = (
        *(
            Output(name=name, unit=unit, window=Window.RUN, meaning=meaning)
            for name, unit, meaning in (
                (
                    "completion_time",
                    "s",
                    "time from the first packet of data until a receiver has everything, mean over"
                    " those that do",
                ),
                (
                    "cast_setup",
                    "s",
                    "time from the first receiver's request to the first packet of data",
                ),
                (
                    "cast_time",
                    "s",
                    "time from the first packet of data until the last receiver has everything;"
                    " nothing if one never does",
                ),
                (
                    "cast_time_bound",
                    "s",
                    "the shortest time in which the cast could have been over, given what"
                    " receivers missed: that of the receiver that needs longest",
                ),
                ("cast_time_over_bound", "1", "`cast_time` by `cast_time_bound`"),
                ("cast_unfinished", "receivers", "receivers that never had everything"),
                (
                    "late_over_copy",
                    "1",
                    "time from the end of the first distribution until a late receiver has"
                    " everything, by the time that the first distribution took for as many"
                    " packets as it missed; of the late receiver with the largest, and nothing if"
                    " a late one never has everything",
                ),
                (
                    "missed_share",
                    "1",
                    "packets of the first distribution that a receiver missed, mean over receivers",
                ),
            )
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._counted: Final = Tally()

    def update(self, batch: Batch) -> None:
        """Adds the next receivers."""
        counted = self._counted
        completed_ns, is_complete = batch.integers("completed_ns"), batch.present("completed_ns")
        missed, sent = batch.integers("missed_packets"), batch.integers("sent_packets")
        counted.add("receivers", batch.rows)
        counted.add("asked_ns", batch.integers("asked_ns").min(), op="min")
        counted.add("began_ns", batch.integers("began_ns").min(), op="min")
        counted.add("bound_ns", batch.integers("bound_ns").max(), op="max")
        counted.add("unfinished", np.count_nonzero(~is_complete))
        counted.add("missed_share", _per_packet(missed, sent).sum())
        if is_complete.any():
            counted.add("completed_ns", completed_ns[is_complete].max(), op="max")
            # Instants of many receivers do not fit into 64 bits when they are added.
            taken_ns = (completed_ns - batch.integers("began_ns"))[is_complete]
            counted.add("taken_s", (taken_ns / SECOND).sum())
        self._add_late(batch)

    def _add_late(self, batch: Batch) -> None:
        began_ns, ended_ns = batch.integers("began_ns"), batch.integers("ended_ns")
        is_late = batch.integers("asked_ns") > began_ns
        is_complete = batch.present("completed_ns")
        self._counted.add("late_unfinished", np.count_nonzero(is_late & ~is_complete))
        packet_ns = _per_packet(ended_ns - began_ns, batch.integers("sent_packets"))
        copy_ns = packet_ns * batch.integers("missed_packets")
        # One that missed nothing needs no copy.
        counts = is_late & is_complete & (copy_ns > 0)
        if counts.any():
            after_ns = np.maximum(batch.integers("completed_ns") - ended_ns, 0)
            worst = (after_ns[counts] / copy_ns[counts]).max()
            self._counted.add("late_over_copy", worst, op="max")

    def tally(self, out: Tally) -> None:
        """Receivers and sums over them, the first and the last of instants."""
        out.merge(self._counted)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:  # noqa: ARG003
        """The run."""
        if not tally.has("receivers"):
            return
        began_ns, unfinished = tally.number("began_ns"), tally.number("unfinished")
        out.add_value("cast_setup", (began_ns - tally.number("asked_ns")) / SECOND)
        out.add_value("cast_unfinished", unfinished)
        out.add_value("missed_share", tally.number("missed_share") / tally.number("receivers"))
        if tally.has("taken_s"):
            complete = tally.number("receivers") - unfinished
            out.add_value("completion_time", tally.number("taken_s") / complete)
        bound_s = tally.number("bound_ns") / SECOND
        out.add_value("cast_time_bound", bound_s)
        if not unfinished:
            cast_s = (tally.number("completed_ns") - began_ns) / SECOND
            out.add_value("cast_time", cast_s)
            if bound_s > 0:
                out.add_value("cast_time_over_bound", cast_s / bound_s)
        if tally.has("late_over_copy") and not tally.number("late_unfinished"):
            out.add_value("late_over_copy", tally.number("late_over_copy"))


def _per_packet(amounts: Ints, packets: Ints) -> Floats:
    """Row by row; of no packets it is 0."""
    return np.divide(amounts, packets, out=np.zeros(amounts.size), where=packets > 0)
