"""Whether what was expected was seen.

An expectation is judged on the whole confidence interval: a mean that reaches
its goal by luck does not meet it. With one seed there is only the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.lab.experiment import Expectation
from penstock.lab.findings import Findings
from penstock.lab.statistics import Estimate, estimate, ratio
from penstock.lab.toml_document import Document


class Verdict(msgspec.Struct, frozen=True):
    """One expectation, and what came of it."""

    metric: str
    variant: str
    op: str
    goal: float | list[float]
    published: float | str | None
    # None when it was not measured, which meets no expectation.
    value: float | None
    ci95: tuple[float, float] | None
    ok: bool
    ratio_to: str | None = None


def judge(expectation: Expectation, by_name: Mapping[str, Sequence[Findings]]) -> Verdict:
    """One expectation, against all seeds."""
    found = _found(expectation, by_name)
    return Verdict(
        metric=expectation.metric,
        variant=expectation.variant,
        op=expectation.op,
        goal=expectation.value,
        published=expectation.published,
        value=None if found is None else found.mean,
        ci95=None if found is None else found.ci95,
        ok=found is not None and holds(found, expectation.op, expectation.value),
        ratio_to=expectation.ratio_to,
    )


def _found(expectation: Expectation, by_name: Mapping[str, Sequence[Findings]]) -> Estimate | None:
    seen = _values(expectation.metric, by_name[expectation.variant])
    if expectation.ratio_to is None:
        return None if seen is None else estimate(seen)
    others = _values(expectation.metric, by_name[expectation.ratio_to])
    return None if seen is None or others is None else ratio(seen, others)


def holds(found: Estimate, op: str, goal: float | list[float]) -> bool:
    """Whether the whole interval lies where it should."""
    low, high = found.ci95 or (found.mean, found.mean)
    if isinstance(goal, list):
        return goal[0] <= low and high <= goal[1]
    return low >= goal if op == ">=" else high <= goal


def check_expectation(number: int, expectation: Expectation, document: Document) -> None:
    """Refuses an operator that does not go with its value."""
    if (expectation.op == "between") != isinstance(expectation.value, list):
        raise document.error(
            ("expect", number),
            'write a pair of values with op = "between", and one value with >= and <=',
        )
    if isinstance(expectation.value, list) and expectation.value[0] > expectation.value[1]:
        raise document.error(("expect", number), "write the lower of the two values first")


def _values(metric: str, seeds: Sequence[Findings]) -> list[float] | None:
    if any(metric not in seed.figures for seed in seeds):
        return None
    return [seed.figures[metric][0] for seed in seeds]
