"""What queues hold over time: for plots of one run, second by second."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.second_sums import SecondSums, report_seconds
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

# A queue that never holds so much is of no interest.
_BYTES_MIN: Final = 1_000
_AMOUNTS: Final = ("held_bytes", "samples")


class QueueLengths(AdditiveMetric[Batch]):
    """Adds up samples by queue and second.

    Rows of queues belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"queues": ("sampled_ns", "queue", "held_bytes")}
    OUTPUTS: ClassVar = (
        Output(
            name="queue_bytes",
            unit="B",
            entity=Entity.QUEUE,
            kinds=("series",),
            meaning="what a queue held, mean over samples of a second, if it was 1 kB in any",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "queue", _AMOUNTS)

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        self._sums.add_batch(batch, ["held_bytes"], samples=np.ones(batch.rows, np.int64))

    def tally(self, out: Tally) -> None:
        """Sums and samples of each queue by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Queues that were ever of interest."""
        for queue in tally.names_of_entities("samples"):
            held, samples = (tally.get(name, entity=queue) for name in _AMOUNTS)
            at = np.flatnonzero(samples)
            means = held[at] / samples[at]
            if means.max() >= _BYTES_MIN:
                report_seconds(out, "queue_bytes", means, at, run, entity=queue)
