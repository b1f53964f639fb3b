"""Looks up what an expectation names among the outputs that metrics declare.

A flat name is `metric[.entity][.phase]`. Which entities there will be is known only after the
run; the metric and the phase can be checked before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.lab.metrics import LAB_METRICS
from penstock.metrics.base import Entity, MetricType, Output
from penstock.metrics.catalogue import find_metric
from penstock.metrics.measurement import outputs_of

# Named after the tables of the file, or after brokers: dots are only those that the file writes.
_NAMED_BY_FILE: Final = frozenset(
    {Entity.HOST, Entity.PUBLISHER, Entity.SUBSCRIBER, Entity.GROUP, Entity.CONNECTION}
)


def find_output(
    flat: str,
    measured: Mapping[str, MetricType],
    phases: Collection[str],
    names: Collection[str] = (),
) -> Output:
    """The output of a flat name; raises a UsageError that names the nearest known one.

    `names` are those that the file gives to clients and connections.
    """
    if flat.endswith("."):
        raise UsageError(f"{flat!r} ends with a dot: leave it out, or write a name after it")
    candidates = [o for o in outputs_of(measured.values()) if _names(o, flat)]
    if not candidates:
        raise UsageError(_unknown_text(flat, measured))
    # The longest name first: it may have a dot that the others take for the end of theirs.
    candidates.sort(key=lambda output: -len(output.name))
    for output in candidates:
        if _may_have(output, _rest(output, flat), phases, names):
            return output
    raise UsageError(_never_text(candidates, flat, phases))


def _rest(output: Output, flat: str) -> str:
    return flat[len(output.name) + 1 :]


def _names(output: Output, flat: str) -> bool:
    """Whether a flat name begins with an output's name, which may have a dot of its own."""
    return "value" in output.kinds and (flat == output.name or flat.startswith(f"{output.name}."))


def _may_have(output: Output, rest: str, phases: Collection[str], names: Collection[str]) -> bool:
    if output.entity is Entity.RUN:
        return not rest or (output.phased and rest in phases)
    if output.entity.has_peer or not rest:
        return False
    may_have_dots = output.entity not in _NAMED_BY_FILE or any("." in name for name in names)
    if "." not in rest or may_have_dots:
        return True
    return output.phased and any(rest.endswith(f".{phase}") for phase in phases)


def _never_text(candidates: Sequence[Output], flat: str, phases: Collection[str]) -> str:
    """Why none of these outputs can have a value of this name."""
    output = candidates[0]
    name, rest = output.name, _rest(output, flat)
    pairs = [o for o in candidates if o.entity.has_peer]
    if pairs and (rest or len(pairs) == len(candidates)):
        return (
            f"{pairs[0].name} is of a {pairs[0].entity}, and values of two names are not in"
            " results: expect another output, and find these in the pipeline's table pairs"
        )
    if output.entity is not Entity.RUN:
        if not rest:
            return f"{name} is of a {output.entity}: write {name}.NAME"
        alone = f"{name}.{rest.partition('.')[0]}"
        return f"{alone} has no {rest.partition('.')[2]!r}: {_advice(output, alone, phases)}"
    return f"{name} has no {rest!r}: {_advice(output, name, phases)}"


def _advice(output: Output, alone: str, phases: Collection[str]) -> str:
    if not (output.phased and phases):
        return f"write {alone} alone"
    return f"write one of {', '.join(f'{alone}.{phase}' for phase in phases)}, or it alone"


def _unknown_text(flat: str, measured: Mapping[str, MetricType]) -> str:
    known = {name: find_metric(name, known=LAB_METRICS).OUTPUTS for name in LAB_METRICS}
    owners = {o.name: name for name, own in known.items() for o in own if _names(o, flat)}
    if owners:
        return f"{flat} is reported by {owners[max(owners, key=len)]!r}: add it to measure.metrics"
    names = [o.name for o in outputs_of(measured.values()) if "value" in o.kinds]
    close = get_close_matches(flat.partition(".")[0], names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see docs/reference/metrics.md"
    return f"no metric of measure.metrics reports {flat!r}: {hint}"
