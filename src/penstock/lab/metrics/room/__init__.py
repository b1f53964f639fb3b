"""Metrics that need the transport or its congestion control, which the room `metrics` must not."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# By name; classes are imported when they are chosen.
LAB_METRICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: f"{__name__}.{place}"
        for name, place in {
            "adaptivity": "adaptivity:Adaptivity",
            "loss_events": "loss_events:LossEvents",
            "response": "response:Response",
        }.items()
    }
)
