"""Looks up what an expectation names among the outputs that metrics declare.

A flat name is `metric[.entity][.phase]`. Which entities there will be is known only after the
run; the metric and the phase can be checked before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from penstock.kernel.errors import UsageError
from penstock.metrics.base import Entity, MetricType, Output
from penstock.metrics.catalogue import METRICS, find_metric
from penstock.metrics.measurement import outputs_of


def find_output(flat: str, measured: Mapping[str, MetricType], phases: Collection[str]) -> Output:
    """The output of a flat name; raises a UsageError that names the nearest known one."""
    candidates = [o for o in outputs_of(measured.values()) if _names(o, flat)]
    if not candidates:
        raise UsageError(_unknown_text(flat, measured))
    rest = flat[len(candidates[0].name) + 1 :]
    for output in candidates:
        if _may_have(output, rest, phases):
            return output
    output = candidates[0]
    if output.entity is not Entity.RUN:
        raise UsageError(f"{output.name} is of a {output.entity}: write {output.name}.NAME")
    if output.phased and phases:
        known = ", ".join(f"{output.name}.{phase}" for phase in phases)
        raise UsageError(f"{output.name} has no {rest!r}: write one of {known}, or it alone")
    raise UsageError(f"{output.name} has no {rest!r}: write {output.name} alone")


def _names(output: Output, flat: str) -> bool:
    """Whether a flat name begins with an output's name, which may have a dot of its own."""
    return "value" in output.kinds and (flat == output.name or flat.startswith(f"{output.name}."))


def _may_have(output: Output, rest: str, phases: Collection[str]) -> bool:
    if output.entity is Entity.RUN:
        return not rest or (output.phased and rest in phases)
    return bool(rest)


def _unknown_text(flat: str, measured: Mapping[str, MetricType]) -> str:
    for metric in METRICS:
        if any(_names(output, flat) for output in find_metric(metric).OUTPUTS):
            return f"{flat} is reported by {metric!r}: add it to measure.metrics"
    names = [o.name for o in outputs_of(measured.values()) if "value" in o.kinds]
    close = get_close_matches(flat.partition(".")[0], names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see docs/reference/metrics.md"
    return f"no metric of measure.metrics reports {flat!r}: {hint}"
