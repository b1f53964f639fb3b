"""Every metric by name. To add one, write its file and name it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.metrics.base import Metric, MetricType

# Classes are imported when they are chosen: some need scipy.
METRICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: f"penstock.metrics.{place}"
        for name, place in {
            "fifo_order": "delivery.fifo_order:FifoOrder",
            "pair_delays": "laws.pair_delays:PairDelays",
            "delay_laws": "laws.delay_laws:DelayLaws",
        }.items()
    }
)


def find_metrics(
    names: Iterable[str], *, known: Mapping[str, str] = METRICS
) -> dict[str, MetricType]:
    """Metrics by name, each once: one that is named twice would count twice."""
    return {name: find_metric(name, known=known) for name in names}


def find_metric(name: str, *, known: Mapping[str, str] = METRICS) -> MetricType:
    """A metric by its name in the catalogue, or by `module:Class`."""
    if name in known:
        return _load(known[name])
    if ":" in name:
        return _load(name)
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise UsageError(f"there is no metric {name!r}: {hint}choose from {', '.join(known)}")


@cache
def _load(place: str) -> MetricType:
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except ImportError as error:
        raise UsageError(
            f"cannot import the metric {place!r} ({error}): is {module.partition('.')[0]} on"
            " PYTHONPATH, here and on the workers?"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Metric)):
        raise UsageError(f"{module} has no metric {name!r}: name a class that extends Metric")
    return found
