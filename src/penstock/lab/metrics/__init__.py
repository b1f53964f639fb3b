"""Metrics that a run computes as it goes, whether or not its trace is kept."""

from typing import Final

from penstock.lab.metrics.adaptivity import Adaptivity
from penstock.lab.metrics.base import Metric
from penstock.lab.metrics.congestion import Congestion
from penstock.lab.metrics.delays import Delays
from penstock.lab.metrics.detection import Detection
from penstock.lab.metrics.events import Events
from penstock.lab.metrics.fits import Fits
from penstock.lab.metrics.links import Links
from penstock.lab.metrics.order import Order
from penstock.lab.metrics.ordering import Orderings
from penstock.lab.metrics.overlap import Overlap
from penstock.lab.metrics.pair import Pair
from penstock.lab.metrics.rates import Rates
from penstock.lab.metrics.receivers import Receivers
from penstock.lab.metrics.recovery import Recovery
from penstock.lab.metrics.residual import Residual
from penstock.lab.metrics.response import Response
from penstock.lab.metrics.sharing import Sharing
from penstock.lab.metrics.tcp import Tcp

# By the name that experiment files use.
METRICS: Final[dict[str, type[Metric]]] = {
    "rates": Rates,
    "order": Order,
    "delays": Delays,
    "pair": Pair,
    "fits": Fits,
    "receivers": Receivers,
    "links": Links,
    "ordering": Orderings,
    "detection": Detection,
    "adaptivity": Adaptivity,
    "residual": Residual,
    "sharing": Sharing,
    "recovery": Recovery,
    "congestion": Congestion,
    "tcp": Tcp,
    "overlap": Overlap,
    "events": Events,
    "response": Response,
}
