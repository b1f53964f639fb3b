"""Metrics over one run's tables in numpy: what a Spark task does, and what needs no Spark.

    base         what a kernel is
    rows, numbering, receipts, ledger, histogram, spread, services   what kernels work with
    measure      one run through all of them
    findings     what comes out

All others are metrics, one to a file; each has a twin in `pipeline/twins/`.
"""

from typing import Final

from penstock.pipeline.kernels.base import Kernel
from penstock.pipeline.kernels.caches import Caches
from penstock.pipeline.kernels.congestion import Congestion
from penstock.pipeline.kernels.delays import Delays
from penstock.pipeline.kernels.detection import Detection
from penstock.pipeline.kernels.drops import Drops
from penstock.pipeline.kernels.effairness import Effairness
from penstock.pipeline.kernels.fairness import Fairness
from penstock.pipeline.kernels.inversions import Inversions
from penstock.pipeline.kernels.late_drops import LateDrops
from penstock.pipeline.kernels.links import Links
from penstock.pipeline.kernels.order import Order
from penstock.pipeline.kernels.queues import Queues
from penstock.pipeline.kernels.rates import Rates
from penstock.pipeline.kernels.receivers import Receivers
from penstock.pipeline.kernels.recovery import Recovery
from penstock.pipeline.kernels.repaired import Repaired

METRICS: Final[dict[str, type[Kernel]]] = {
    "rates": Rates,
    "order": Order,
    "inversions": Inversions,
    "delays": Delays,
    "late_drops": LateDrops,
    "detection": Detection,
    "repaired": Repaired,
    "recovery": Recovery,
    "caches": Caches,
    "congestion": Congestion,
    "receivers": Receivers,
    "links": Links,
    "queues": Queues,
    "drops": Drops,
    "fairness": Fairness,
    "effairness": Effairness,
}
