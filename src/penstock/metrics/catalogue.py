"""Every metric by name. To add one, write its file and name it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.metrics.base import AdditiveMetric, Entity, Metric, MetricType
from penstock.metrics.declarations import check_metric

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
            "queue_lengths": "network.queue_lengths:QueueLengths",
            "drops": "network.drops:Drops",
            "effairness": "network.effairness:Effairness",
            "stream_rates": "streams.rates:StreamRates",
            "doubt_horizon": "streams.doubt_horizon:DoubtHorizon",
            "crossings": "streams.crossings:Crossings",
            "publish_shares": "streams.publish_shares:PublishShares",
            "stream_recovery": "streams.recovery:StreamRecovery",
            "stream_silence": "streams.silence:StreamSilence",
            "nack_window": "streams.nack_window:NackWindow",
            "alerts": "streams.alerts:Alerts",
            "link_goodput": "streams.goodput:LinkGoodput",
            "cast_completion": "casts.completion:CastCompletion",
            "cast_crossings": "casts.crossings:CastCrossings",
            "cast_yardsticks": "casts.yardsticks:CastYardsticks",
            "cast_reports": "casts.reports:CastReports",
            "cast_nodes": "casts.nodes:CastNodes",
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
_BASES: Final = (Metric, AdditiveMetric)


def find_metrics(
    names: Iterable[str], *, known: Mapping[str, str] = METRICS
) -> dict[str, MetricType]:
    """Metrics by name, each class once; refuses a metric that reports what another one does."""
    found: dict[str, MetricType] = {}
    names_of = {place: name for name, place in known.items()}
    for asked in names:
        metric = find_metric(asked, known=known)
        if metric not in found.values():
            found[names_of.get(asked, asked)] = metric
    own = {name: metric for name, metric in found.items() if name not in known}
    if own:
        _check_own(own, {name: find_metric(name, known=known) for name in known})
    return found


def _check_own(own: Mapping[str, MetricType], catalogue: Mapping[str, MetricType]) -> None:
    """What the catalogue reports is taken, chosen or not: a name means one thing everywhere."""
    taken = {o.name: name for name, metric in catalogue.items() for o in metric.OUTPUTS}
    owners: dict[tuple[str, Entity], str] = {}
    for name, metric in own.items():
        if metric in catalogue.values():
            continue
        for output in metric.OUTPUTS:
            owner = taken.get(output.name)
            owner = owner or owners.setdefault((output.name, output.entity), name)
            if owner != name:
                raise UsageError(f"{owner!r} and {name!r} both report {output.name}: rename one")


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
    if not module or module.startswith("."):
        raise UsageError(
            f"{place!r} names no metric: write MODULE:CLASS with the whole module name"
        )
    try:
        found = getattr(import_module(module), name, None)
    except ImportError as error:
        raise UsageError(
            f"cannot import the metric {place!r} ({_one_line(error)}): is"
            f" {module.partition('.')[0]} on PYTHONPATH, here and on the workers?"
        ) from None
    except (Exception, SystemExit) as error:
        # A module is a program: it may fail in any way, and must not take ours along.
        raise UsageError(
            f"cannot import the metric {place!r}: {module} fails with"
            f" {type(error).__name__}: {_one_line(error)}; mend it first"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Metric)) or found in _BASES:
        raise UsageError(f"{module} has no metric {name!r}: name a class that extends Metric")
    check_metric(place, found)
    return found


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
