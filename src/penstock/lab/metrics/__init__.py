"""Metrics that need the transport's own code, and so have no place in the room `metrics`.

They are plugged in as metrics of one's own are, by module and class.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from penstock.metrics.catalogue import METRICS

# Every metric that an experiment file may name.
LAB_METRICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **METRICS,
        "adaptivity": "penstock.lab.metrics.adaptivity:Adaptivity",
        "loss_events": "penstock.lab.metrics.loss_events:LossEvents",
        "response": "penstock.lab.metrics.response:Response",
    }
)
