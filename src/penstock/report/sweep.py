"""Several results of one experiment that differ in some parameters, and those parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from penstock.report.report_data import ReportData, flatten
from penstock.report.summary_table import distinguishing_metrics

# Keys that differ for other reasons than a sweep.
_IGNORED: Final = ("seeds", "title", "source")


class Sweep:
    """Points of a grid, sorted by their settings."""

    def __init__(self, points: Sequence[ReportData]) -> None:
        self.points = sorted(points, key=lambda point: self._order(point, points))

    @cached_property
    def keys(self) -> list[str]:
        """The parameters that differ, the one with most values first."""
        return varied_parameters(self.points)

    @property
    def names(self) -> list[str]:
        """Result names of all points."""
        return list(dict.fromkeys(name for point in self.points for name in point.names))

    def setting(self, point: ReportData, key: str) -> str:
        """A parameter of a point, as text; of several variants, the first that has it."""
        trees = (flatten(tree) for tree in point.result.parameters.values())
        return next((tree[key] for tree in trees if key in tree), "")

    def label(self, point: ReportData, keys: Sequence[str] | None = None) -> str:
        """The settings of a point, as `key = value, …`."""
        chosen = self.keys if keys is None else keys
        return ", ".join(f"{_short(key)} = {self.setting(point, key)}" for key in chosen)

    def metrics(self) -> list[str]:
        """Metrics that distinguish the names of a point, then those with expectations."""
        expected = [v.metric for point in self.points for v in point.result.expect]
        distinguishing = [
            metric for point in self.points for metric in distinguishing_metrics(point, point.names)
        ]
        return list(dict.fromkeys([*distinguishing, *expected]))

    def _order(
        self, point: ReportData, points: Sequence[ReportData]
    ) -> list[tuple[bool, float, str]]:
        return [_comparable(self.setting(point, key)) for key in varied_parameters(points)]


def varied_parameters(points: Sequence[ReportData]) -> list[str]:
    """Parameters that differ between points, in any variant."""
    values: dict[str, set[str]] = {}
    for variant in dict.fromkeys(v for point in points for v in point.result.parameters):
        trees = [flatten(p.result.parameters[variant]) for p in points if variant in p.networks]
        for key in dict.fromkeys(key for tree in trees for key in tree):
            seen = {tree.get(key, "") for tree in trees}
            if len(seen) > 1 and key not in _IGNORED:
                values.setdefault(key, set()).update(seen)
    return sorted(values, key=lambda key: (-len(values[key]), key))


def numeric(value: str) -> float | None:
    """The value as a number; None if it is not one."""
    try:
        return float(value)
    except ValueError:
        return None


def _comparable(value: str) -> tuple[bool, float, str]:
    as_number = numeric(value)
    return as_number is None, as_number or 0.0, value


def _short(key: str) -> str:
    """The last part of a dotted key: `loss` of `channel.loss`."""
    return key.rpartition(".")[2]
