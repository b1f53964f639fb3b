"""Judges the expectations of an experiment against the figures of all seeds.

An expectation is judged on the whole confidence interval: a mean that reaches
its goal by luck does not meet it. With one seed, only the mean is judged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

import msgspec

from penstock.lab.experiment import Expectation
from penstock.lab.findings import Findings
from penstock.lab.toml_document import TomlDocument
from penstock.metrics.base import Entity, MetricType
from penstock.metrics.catalogue import METRICS, find_metric
from penstock.metrics.measurement import outputs_of
from penstock.metrics.statistics import Estimate, estimate, ratio


class ExpectationResult(msgspec.Struct, frozen=True):
    """One expectation with the measured value and the verdict."""

    metric: str
    variant: str
    op: str
    goal: float | list[float]
    published: float | str | None
    # None if the metric was not measured; the expectation is then not met.
    value: float | None
    ci95: tuple[float, float] | None
    ok: bool
    ratio_to: str | None = None


def judge_expectation(
    expectation: Expectation, by_name: Mapping[str, Sequence[Findings]]
) -> ExpectationResult:
    """Judges one expectation against the findings of all seeds, which are by result name."""
    measured = _measured(expectation, by_name)
    return ExpectationResult(
        metric=expectation.metric,
        variant=expectation.variant,
        op=expectation.op,
        goal=expectation.value,
        published=expectation.published,
        value=None if measured is None else measured.mean,
        ci95=None if measured is None else measured.ci95,
        ok=measured is not None and is_met(measured, expectation.op, expectation.value),
        ratio_to=expectation.ratio_to,
    )


def _measured(
    expectation: Expectation, by_name: Mapping[str, Sequence[Findings]]
) -> Estimate | None:
    values = _values(expectation.metric, by_name[expectation.variant])
    if expectation.ratio_to is None:
        return None if values is None else estimate(values)
    others = _values(expectation.metric, by_name[expectation.ratio_to])
    return None if values is None or others is None else ratio(values, others)


def is_met(measured: Estimate, op: str, goal: float | list[float]) -> bool:
    """Tells whether the whole confidence interval satisfies the goal."""
    low, high = measured.ci95 or (measured.mean, measured.mean)
    if isinstance(goal, list):
        return goal[0] <= low and high <= goal[1]
    return low >= goal if op == ">=" else high <= goal


def check_expectation(
    index: int,
    expectation: Expectation,
    measured: Mapping[str, MetricType],
    phases: Collection[str],
    document: TomlDocument,
) -> None:
    """Raises a UsageError for a name that no chosen metric reports, or a goal that is none."""
    _check_name(index, expectation, measured, phases, document)
    if (expectation.op == "between") != isinstance(expectation.value, list):
        raise document.error(
            ("expect", index),
            'write a pair of values with op = "between", and one value with >= and <=',
        )
    if isinstance(expectation.value, list) and expectation.value[0] > expectation.value[1]:
        raise document.error(("expect", index), "write the lower of the two values first")


def _check_name(
    index: int,
    expectation: Expectation,
    measured: Mapping[str, MetricType],
    phases: Collection[str],
    document: TomlDocument,
) -> None:
    place = ("expect", index, "metric")
    outputs = {o.name: o for o in outputs_of(measured.values()) if "value" in o.kinds}
    name, _, rest = expectation.metric.partition(".")
    output = outputs.get(name)
    if output is None:
        raise document.error(place, _unknown_name(name, outputs))
    of_run = all(o.entity is Entity.RUN for o in outputs_of(measured.values()) if o.name == name)
    if rest and of_run and not (output.phased and rest in phases):
        known = ", ".join(phases) if output.phased else ""
        raise document.error(
            place,
            f"{name} has no {rest!r}: "
            + (f"write one of the phases ({known})" if known else f"write {name!r} alone"),
        )
    if expectation.unit not in (None, output.unit):
        raise document.error(
            ("expect", index, "unit"),
            f"{name} is measured in {output.unit!r}, not in {expectation.unit!r}",
        )


def _unknown_name(name: str, outputs: Collection[str]) -> str:
    for metric in METRICS:
        if any(o.name == name for o in find_metric(metric).OUTPUTS):
            return f"{name} is reported by {metric!r}: add it to measure.metrics"
    close = get_close_matches(name, outputs, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see docs/lab.md for what they report"
    return f"no metric of measure.metrics reports {name!r}: {hint}"


def _values(metric: str, seeds: Sequence[Findings]) -> list[float] | None:
    if any(metric not in seed.figures for seed in seeds):
        return None
    return [seed.figures[metric][0] for seed in seeds]
