"""The result of an experiment (`result.json`), and the comparison of two results."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.lab.atomic_file import write_atomically
from penstock.lab.expectations import ExpectationResult
from penstock.lab.findings import Findings
from penstock.lab.single_run import Outcome
from penstock.metrics.sketches import Sketch
from penstock.metrics.statistics import Estimate, estimate


class Result(msgspec.Struct, kw_only=True):
    """Estimates of all variants over all seeds; with one seed, `ci95` is null."""

    id: str
    profile: str
    seeds: list[int]
    trace_hash: str
    variants: dict[str, dict[str, Estimate]]
    expect: list[ExpectationResult]
    # Left out by `--json`. Hashes and figures are keyed by variant and seed, as `off.1`.
    parameters: dict[str, Any] = {}
    trace_hashes: dict[str, str] = {}
    figures: dict[str, dict[str, float]] = {}
    series: dict[str, dict[str, list[float]]] = {}
    # The 0th, 1st, … 100th percentile of a distribution.
    quantiles: dict[str, dict[str, list[float]]] = {}
    # Histograms and points of the first seed: they cannot be averaged.
    sketches: dict[str, dict[str, Sketch]] = {}
    wall_s: float = 0
    code_version: str = __version__

    @property
    def ok(self) -> bool:
        """Whether all expectations are met."""
        return all(verdict.ok for verdict in self.expect)

    def json_summary(self) -> dict[str, Any]:
        """The part of the result that `--json` prints."""
        tree = msgspec.to_builtins(self)
        keys = ("id", "profile", "seeds", "trace_hash", "variants", "expect")
        return {key: tree[key] for key in keys}


def estimates(seeds: Sequence[Findings]) -> dict[str, Estimate]:
    """Estimates every figure over all seeds; a figure that some seed lacks is left out."""
    shared = [name for name in seeds[0].figures if all(name in s.figures for s in seeds)]
    return {
        name: estimate([s.figures[name][0] for s in seeds], seeds[0].figures[name][1])
        for name in shared
    }


def means(curves: Sequence[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Averages series or quantiles over all seeds; one that some seed lacks is left out."""
    shared = [name for name in curves[0] if all(name in seed for seed in curves)]
    return {
        name: [fmean(column) for column in zip(*(seed[name] for seed in curves), strict=True)]
        for name in shared
    }


def combined_hash(outcomes: Sequence[Outcome]) -> str:
    """One hash over all trace hashes, sorted by variant and seed."""
    lines = sorted(f"{o.variant} {o.seed} {o.trace_hash}\n" for o in outcomes)
    return sha256("".join(lines).encode()).hexdigest()


def write_result(result: Result, path: Path) -> None:
    """Writes the result as indented JSON."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(result), indent=1))


def read_result(path: Path) -> Result:
    """Reads a result file, or the one in a directory."""
    if path.is_dir():
        path = path / "result.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Result)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is no result of 'penstock lab run': {error}") from None


class MetricChange(msgspec.Struct, frozen=True):
    """One metric of one variant in two results; None where a result lacks it."""

    variant: str
    metric: str
    before: Estimate | None
    after: Estimate | None

    @property
    def relative(self) -> float | None:
        """The relative change of the mean; None if a mean is missing or the first is 0."""
        if self.before is None or self.after is None or not self.before.mean:
            return None
        return self.after.mean / self.before.mean - 1

    @property
    def is_significant(self) -> bool | None:
        """Whether the confidence intervals are disjoint; None if one is missing."""
        if self.before is None or self.after is None:
            return None
        one, other = self.before.ci95, self.after.ci95
        if one is None or other is None:
            return None
        return one[1] < other[0] or other[1] < one[0]


def compare(before: Result, after: Result) -> list[MetricChange]:
    """Compares every metric of every variant, in the order of the first result."""
    changes = []
    for variant in dict.fromkeys([*before.variants, *after.variants]):
        old, new = before.variants.get(variant, {}), after.variants.get(variant, {})
        changes += [
            MetricChange(variant, metric, old.get(metric), new.get(metric))
            for metric in dict.fromkeys([*old, *new])
        ]
    return changes


def changed_parameters(before: Result, after: Result) -> list[str]:
    """`key: old -> new` for every parameter that differs."""
    old, new = _flatten(before.parameters), _flatten(after.parameters)
    return [
        f"{key}: {old.get(key, '(not there)')} -> {new.get(key, '(not there)')}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _flatten(tree: Any, above: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {above: tree}
    return {
        path: value
        for key, below in tree.items()
        for path, value in _flatten(below, f"{above}.{key}" if above else key).items()
    }
