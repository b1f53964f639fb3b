"""Each metric again as DataFrame steps: the kernels' oracle, and the way for a run too large.

    frames    the tables of all runs, and what came to receivers
    steps     from aggregates to rows of the gold tables
    spread    from durations to histograms, means and quantiles

All others are metrics, each a function from frames to parts of the wide table.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame

from penstock.pipeline.twins.caches import caches
from penstock.pipeline.twins.congestion import congestion
from penstock.pipeline.twins.delays import delays
from penstock.pipeline.twins.detection import detection
from penstock.pipeline.twins.drops import drops
from penstock.pipeline.twins.effairness import effairness
from penstock.pipeline.twins.fairness import fairness
from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.twins.inversions import inversions
from penstock.pipeline.twins.late_drops import late_drops
from penstock.pipeline.twins.links import links
from penstock.pipeline.twins.order import order
from penstock.pipeline.twins.queues import queues
from penstock.pipeline.twins.rates import rates
from penstock.pipeline.twins.receivers import receivers
from penstock.pipeline.twins.recovery import recovery
from penstock.pipeline.twins.repaired import repaired

TWINS: Final[dict[str, Callable[[Frames], list[DataFrame]]]] = {
    "rates": rates,
    "order": order,
    "inversions": inversions,
    "delays": delays,
    "late_drops": late_drops,
    "detection": detection,
    "repaired": repaired,
    "recovery": recovery,
    "caches": caches,
    "congestion": congestion,
    "receivers": receivers,
    "links": links,
    "queues": queues,
    "drops": drops,
    "fairness": fairness,
    "effairness": effairness,
}


def measured(frames: Frames, metrics: Iterable[str]) -> DataFrame:
    """What the named metrics find, as one wide table."""
    parts = [part for name in dict.fromkeys(metrics) for part in TWINS[name](frames)]
    # By place: all have the columns of the wide table, and finding them by name takes seconds.
    return reduce(DataFrame.union, parts)
