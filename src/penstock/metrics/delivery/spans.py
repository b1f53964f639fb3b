"""Rows by phase, for metrics that look at single rows of a phase rather than at its seconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Ints


def rows_by_span(run: RunInfo, instants: Ints) -> Iterator[tuple[str, slice]]:
    """The rows within the experiment under the name "", then those of each phase.

    Instants must not fall, as those of arrivals and of one ordering's deliveries do not.
    """
    for phase, *bounds_s in run.spans():
        bounds = [run.origin + round(bound * SECOND) for bound in bounds_s]
        start, stop = np.searchsorted(instants, bounds).tolist()
        yield phase, slice(start, stop)
