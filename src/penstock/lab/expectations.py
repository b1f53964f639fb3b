"""Judges the expectations of an experiment against the figures of all seeds.

An expectation is judged on the whole confidence interval: a mean that reaches
its goal by luck does not meet it. With one seed, only the mean is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.lab.experiment import Expectation, Experiment
from penstock.lab.findings import Findings
from penstock.lab.output_names import find_output
from penstock.lab.scenario import errors_at_key
from penstock.lab.toml_document import TomlDocument
from penstock.metrics.base import MetricType
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
    expectation: Expectation,
    by_name: Mapping[str, Sequence[Findings]],
    only_ordering: Mapping[str, str],
) -> ExpectationResult:
    """Judges one expectation against the findings of all seeds, which are by result name.

    The only ordering of a variant answers for it where the network has no such figure.
    """
    measured = _measured(expectation, by_name, only_ordering)
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
    expectation: Expectation,
    by_name: Mapping[str, Sequence[Findings]],
    only_ordering: Mapping[str, str],
) -> Estimate | None:
    def values_of(name: str) -> list[float] | None:
        own = _values(expectation.metric, by_name[name])
        if own is None and only_ordering.get(name) in by_name:
            return _values(expectation.metric, by_name[only_ordering[name]])
        return own

    values = values_of(expectation.variant)
    if expectation.ratio_to is None:
        return None if values is None else estimate(values)
    others = values_of(expectation.ratio_to)
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
    experiment: Experiment,
    measured: Mapping[str, MetricType],
    document: TomlDocument,
) -> None:
    """Raises a UsageError for a name that no chosen metric reports, or another unit."""
    names = (*experiment.clients, *experiment.tcp)
    with errors_at_key(document, "expect", index, "metric"):
        output = find_output(expectation.metric, measured, experiment.measure.phases, names)
    if expectation.unit not in (None, output.unit):
        raise document.error(
            ("expect", index, "unit"),
            f"{output.name} is measured in {output.unit!r}, not in {expectation.unit!r}",
        )


def check_goal(index: int, expectation: Expectation, document: TomlDocument) -> None:
    """Raises a UsageError for a goal that is none, whatever profile or variant is run."""
    if (expectation.op == "between") != isinstance(expectation.value, list):
        raise document.error(
            ("expect", index),
            'write a pair of values with op = "between", and one value with >= and <=',
        )
    if isinstance(expectation.value, list) and expectation.value[0] > expectation.value[1]:
        raise document.error(("expect", index), "write the lower of the two values first")


def _values(metric: str, seeds: Sequence[Findings]) -> list[float] | None:
    if any(metric not in seed.figures for seed in seeds):
        return None
    return [seed.figures[metric][0] for seed in seeds]
