"""Every metric by name. To add one, write its file and name it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.metrics.base import Entity, Metric, MetricType

# Classes are imported when they are chosen: some need scipy.
METRICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: f"penstock.metrics.{place}"
        for name, place in {
            "received": "delivery.received:Received",
            "false_negatives": "delivery.false_negatives:FalseNegatives",
            "fifo_order": "delivery.fifo_order:FifoOrder",
            "inversions": "delivery.inversions:Inversions",
            "delays": "delivery.delays:Delays",
            "delay_clusters": "delivery.delay_clusters:DelayClusters",
            "late_drops": "delivery.late_drops:LateDrops",
            "receivers": "delivery.receivers:Receivers",
            "fairness": "delivery.fairness:Fairness",
            "workload": "delivery.workload:Workload",
            "detection": "recovery.detection:Detection",
            "residual": "recovery.residual:Residual",
            "shared_losses": "recovery.shared_losses:SharedLosses",
            "requests": "recovery.requests:Requests",
            "repaired_delays": "recovery.repaired_delays:RepairedDelays",
            "caches": "recovery.caches:Caches",
            "source_fates": "congestion.source_fates:SourceFates",
            "feedback": "congestion.feedback:Feedback",
            "flow_table": "congestion.flow_table:FlowTable",
            "settling": "congestion.settling:Settling",
            "fair_shares": "congestion.fair_shares:FairShares",
            "group_rates": "congestion.group_rates:GroupRates",
            "tcp_sharing": "congestion.tcp_sharing:TcpSharing",
            "links": "network.links:Links",
            "bottleneck": "network.bottleneck:Bottleneck",
            "queues": "network.queues:Queues",
            "drops": "network.drops:Drops",
            "effairness": "network.effairness:Effairness",
            "pair_delays": "laws.pair_delays:PairDelays",
            "delay_laws": "laws.delay_laws:DelayLaws",
        }.items()
    }
)
# Those that keep rows or fit laws, which takes long: only computed where they are asked for.
ON_REQUEST: Final = frozenset(
    {"delay_clusters", "delay_laws", "group_rates", "pair_delays", "shared_losses", "workload"}
)
DEFAULT_METRICS: Final = tuple(name for name in METRICS if name not in ON_REQUEST)


def find_metrics(
    names: Iterable[str], *, known: Mapping[str, str] = METRICS
) -> dict[str, MetricType]:
    """Metrics by name, each once; refuses a metric that reports what another one does."""
    found = {name: find_metric(name, known=known) for name in names}
    owners: dict[tuple[str, Entity], tuple[str, MetricType]] = {}
    # What the catalogue reports is taken, chosen or not, once there is a metric of one's own.
    others = {name: find_metric(name) for name in METRICS} if any(":" in n for n in found) else {}
    for name, metric in {**others, **found}.items():
        for output in metric.OUTPUTS:
            key = (output.name, output.entity)
            owner, other = owners.setdefault(key, (name, metric))
            if other is not metric:
                raise UsageError(f"{owner!r} and {name!r} both report {output.name}: rename one")
    return found


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
