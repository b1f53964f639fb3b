"""Several results of one experiment that differ in some parameters: which, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from penstock.report.report_data import ReportData, flatten
from penstock.report.summary_table import distinguishing_metrics

# What a reader does not vary.
_IGNORED: Final = ("seeds", "title", "source")


class Sweep:
    """Points of a grid, in the order of their settings."""

    def __init__(self, points: Sequence[ReportData]) -> None:
        self.points = sorted(points, key=lambda point: self._order(point, points))

    @cached_property
    def keys(self) -> list[str]:
        """The parameters that differ, the one with most values first."""
        return varied_parameters(self.points)

    @property
    def names(self) -> list[str]:
        """What is compared, at any of the points."""
        return list(dict.fromkeys(name for point in self.points for name in point.names))

    def setting(self, point: ReportData, key: str) -> str:
        """What the point has there; of several variants the first one that has anything."""
        trees = (flatten(tree) for tree in point.result.parameters.values())
        return next((tree[key] for tree in trees if key in tree), "")

    def label(self, point: ReportData, keys: Sequence[str] | None = None) -> str:
        """As one would set it."""
        chosen = self.keys if keys is None else keys
        return ", ".join(f"{_short(key)} = {self.setting(point, key)}" for key in chosen)

    def metrics(self) -> list[str]:
        """Those that tell the points apart, as far as one page goes."""
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
    """None for words."""
    try:
        return float(value)
    except ValueError:
        return None


def _comparable(value: str) -> tuple[bool, float, str]:
    as_number = numeric(value)
    return as_number is None, as_number or 0.0, value


def _short(key: str) -> str:
    """`channel.loss` is `loss` to whoever varied it."""
    return key.rpartition(".")[2]
