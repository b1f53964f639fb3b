"""The data of one report page: an experiment's result, and what its traces add.

Figures and tables query `ReportData`, and do not know whether a value comes from
`result.json` or from the pipeline's gold tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from penstock.lab.result import Result
from penstock.metrics.statistics import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts per bin; with a `start` of 0, bin i holds i·width ≤ x < (i + 1)·width."""

    counts: tuple[int, ...]
    width: float
    start: float = 0.0

    @property
    def edges(self) -> list[float]:
        """The bin edges, one more than there are bins."""
        return [self.start + index * self.width for index in range(len(self.counts) + 1)]


Histograms = Mapping[str, Mapping[str, Histogram]]
# By name and metric: the mean over seeds of each (subscriber, publisher).
Pairs = Mapping[str, Mapping[str, Mapping[tuple[str, str], float]]]
_NO_HISTOGRAMS: Final[Histograms] = MappingProxyType({})
_NO_PAIRS: Final[Pairs] = MappingProxyType({})
# Figures that traces add to a result with congestion control.
_CONTROL_METRICS: Final = (
    *("jain", "effairness", "offered", "sent", "rate_limited", "dropped_at_source", "lost"),
    *("feedback_rate", "ack_rate", "flow_table_mean", "flow_table_max", "quota_use"),
    *("queue_delay_mean", "queue_delay_p95"),
)


class ReportData:
    """One experiment with all that is compared in it, by result name."""

    def __init__(
        self,
        result: Result,
        *,
        histograms: Histograms = _NO_HISTOGRAMS,
        pairs: Pairs = _NO_PAIRS,
        about: str = "",
    ) -> None:
        self.result = result
        self.about = about
        self._histograms = histograms
        self._pairs = pairs
        self._origins = {name: _origin(name, result.parameters) for name in self.names}
        self._only_ordering = self._only_orderings()

    def _only_orderings(self) -> dict[str, str]:
        """By variant, the name of its ordering, if there is just one of another name."""
        found: dict[str, list[str]] = {}
        for name, (variant, ordering) in self._origins.items():
            if ordering is not None and name != variant:
                found.setdefault(variant, []).append(name)
        return {variant: names[0] for variant, names in found.items() if len(names) == 1}

    def merged_with(self, other: ReportData) -> ReportData:
        """Adds the data of another source; data that both have is taken from this one."""
        mine, theirs = self.result, other.result
        known = mine.variants
        result = msgspec.structs.replace(
            mine,
            variants={n: self._with_control_metrics(n, theirs.variants.get(n, {})) for n in known},
            series={n: {**theirs.series.get(n, {}), **mine.series.get(n, {})} for n in known},
            quantiles={
                n: {**theirs.quantiles.get(n, {}), **mine.quantiles.get(n, {})} for n in known
            },
        )
        return ReportData(
            result, histograms=other._histograms, pairs=other._pairs, about=self.about
        )

    def _with_control_metrics(
        self, name: str, theirs: Mapping[str, Estimate]
    ) -> dict[str, Estimate]:
        mine = self.result.variants[name]
        if not self.controlled or name not in self.networks:
            return mine
        return mine | {
            metric: figure
            for metric, figure in theirs.items()
            if metric not in mine
            and (metric in _CONTROL_METRICS or metric.startswith("effairness."))
        }

    @property
    def id(self) -> str:
        """The experiment's id."""
        return self.result.id

    @property
    def title(self) -> str:
        """The experiment's title, or its id if it has none."""
        return str(self._first_parameter("title") or self.id)

    @property
    def source(self) -> str:
        """The publication that the experiment reproduces; empty if none."""
        return str(self._first_parameter("source") or "")

    @property
    def names(self) -> list[str]:
        """Result names of everything compared: variants and their orderings."""
        return list(self.result.variants)

    @property
    def networks(self) -> list[str]:
        """The names that are variants; their figures are those of the network."""
        return [name for name in self.names if name in self.result.parameters]

    @property
    def controlled(self) -> list[str]:
        """The variants with congestion control."""
        return [name for name in self.networks if self.has_control(name)]

    def has_control(self, name: str) -> bool:
        """Whether a variant has congestion control."""
        return self.parameter(name, "transport.congestion.kind") not in (None, "off")

    def baseline_of(self, name: str) -> str | None:
        """The variant without control that differs from this one in nothing but the transport.

        If there is none, the first variant without control; None if all are controlled.
        """
        without = [other for other in self.networks if not self.has_control(other)]
        mine = self._parameters_but_transport(name)
        like = (other for other in without if self._parameters_but_transport(other) == mine)
        return next(like, without[0] if without else None)

    def _parameters_but_transport(self, name: str) -> dict[str, Any]:
        tree = self.result.parameters.get(name, {})
        return {key: value for key, value in tree.items() if key != "transport"}

    def figure(self, name: str, metric: str) -> Estimate | None:
        """A figure; None if it was not measured.

        The only ordering of a variant answers for it where the network has no such figure.
        """
        own = self.result.variants.get(name, {}).get(metric)
        if own is None and name in self._only_ordering:
            return self.result.variants[self._only_ordering[name]].get(metric)
        return own

    def never_delivered(self, variant: str) -> Estimate | None:
        """What applications never got of a variant; None unless recovery was measured."""
        name = self._application_of(variant)
        return None if name is None else self.figure(name, "false_negatives")

    def never_delivered_by_second(self, variant: str) -> Sequence[float]:
        """The same by second of publication; empty unless recovery was measured."""
        name = self._application_of(variant)
        return [] if name is None else self.series(name, "false_negatives")

    def _application_of(self, variant: str) -> str | None:
        """The first ordering of a variant whose recovery was measured."""
        if "requests" not in (self.parameter(variant, "measure.metrics") or ()):
            return None
        own = (n for n in self.names if self.variant(n) == variant and self.ordering(n) is not None)
        return next(own, None)

    def names_with(self, metric: str) -> list[str]:
        """The names that have this figure themselves."""
        return [name for name in self.names if metric in self.result.variants[name]]

    def metrics(self) -> dict[str, str]:
        """The unit of every figure, by metric."""
        every = [f for figures in self.result.variants.values() for f in figures.items()]
        return {metric: estimate.unit for metric, estimate in every}

    def series(self, name: str, metric: str) -> Sequence[float]:
        """A series by second of the experiment; empty if it was not measured."""
        return self.result.series.get(name, {}).get(metric, [])

    def names_with_series(self, metric: str) -> list[str]:
        """The names that have this series."""
        return [name for name in self.names if self.series(name, metric)]

    def distribution(self, name: str, metric: str) -> Sequence[float]:
        """The 0th, 1st, … 100th percentile; empty if not known."""
        return self.result.quantiles.get(name, {}).get(metric, [])

    def names_with_distribution(self, metric: str) -> list[str]:
        """The names that have this distribution."""
        return [name for name in self.names if self.distribution(name, metric)]

    def histogram(self, name: str, metric: str) -> Histogram | None:
        """A histogram; None without traces."""
        own = self._histograms.get(name, {}).get(metric)
        if own is None and name in self._only_ordering:
            return self._histograms.get(self._only_ordering[name], {}).get(metric)
        return own

    def pairs(self, name: str, metric: str) -> Mapping[tuple[str, str], float]:
        """Values by (subscriber, publisher); empty without traces."""
        return self._pairs.get(name, {}).get(metric, {})

    def variant(self, name: str) -> str:
        """The variant that a name belongs to."""
        return self._origins[name][0]

    def ordering(self, name: str) -> str | None:
        """The ordering of a name; None if the name is a network's."""
        return self._origins[name][1]

    def kind(self, name: str) -> str | None:
        """The kind of an ordering: off, constant, literal or default; None for a network."""
        kind = self.setting(name, "kind")
        return None if kind is None else str(kind)

    def setting(self, name: str, key: str) -> Any:
        """A key of an ordering in the experiment file; None if not set."""
        ordering = self.ordering(name)
        orderings = self.parameter(name, "orderings") or {}
        return None if ordering is None else orderings.get(ordering, {}).get(key)

    def record(self, name: str) -> int:
        """The number of record entries that an ordering looks at, at most those carried."""
        used = int(self.setting(name, "record") or 0)
        carried = self.parameter(name, "transport.record")
        return used if carried is None else min(used, int(carried))

    def parameter(self, name: str, path: str) -> Any:
        """A parameter of the variant by dotted path; None if not set."""
        tree: Any = self.result.parameters.get(self.variant(name), {})
        for key in path.split("."):
            tree = tree.get(key) if isinstance(tree, dict) else None
        return tree

    def _first_parameter(self, key: str) -> Any:
        trees = self.result.parameters.values()
        return next((tree[key] for tree in trees if isinstance(tree, dict) and key in tree), None)


def _origin(name: str, parameters: Mapping[str, Any]) -> tuple[str, str | None]:
    """The variant and ordering of a result name; the ordering of a network is None."""
    if name in parameters:
        return name, name if name in _orderings(parameters[name]) else None
    for variant, tree in parameters.items():
        if len(parameters) == 1 and name in _orderings(tree):
            return variant, name
        if name.startswith(f"{variant}.") and name[len(variant) + 1 :] in _orderings(tree):
            return variant, name[len(variant) + 1 :]
    return name, None


def flatten(tree: Any, above: str = "") -> dict[str, str]:
    """Dotted keys with values as text; keys that are not set are left out."""
    if not isinstance(tree, dict):
        return {} if tree is None else {above: _value_text(tree)}
    found: dict[str, str] = {}
    for key, below in tree.items():
        found |= flatten(below, f"{above}.{key}" if above else str(key))
    return found


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _orderings(tree: Any) -> Mapping[str, Any]:
    found = tree.get("orderings") if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}
