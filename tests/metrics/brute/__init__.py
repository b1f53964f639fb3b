"""Every output of the default metrics again, in plain Python, row by row: the room's oracle."""

from __future__ import annotations

from tests.metrics.brute import casts, congestion, delivery, network, recovery, streams
from tests.metrics.brute.run import BruteRun, Key
from tests.metrics.brute.traces import Trace

__all__ = ["Key", "brute_force"]


def brute_force(trace: Trace) -> dict[Key, float]:
    run = BruteRun(trace)
    for topic in (delivery, recovery, congestion, network, streams, casts):
        topic.measure(run)
    return run.found
