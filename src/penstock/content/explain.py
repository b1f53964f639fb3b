"""Explains in words why a message matches a predicate or does not.

Decides nothing itself: the verdicts are those of `Constraint.matches`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from penstock.content.constraint import ORDERED, TEXTUAL, Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.syntax.writer import (
    format_constraint,
    format_filter,
    format_name,
    format_operand,
    format_value,
)
from penstock.content.value import Value, kind_of

_WORDS: Final = {
    Op.NE: "which equals",
    Op.PREFIX: "which does not begin with",
    Op.SUFFIX: "which does not end with",
    Op.CONTAINS: "which does not contain",
    Op.NOT_PREFIX: "which begins with",
    Op.NOT_SUFFIX: "which ends with",
    Op.NOT_CONTAINS: "which contains",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A constraint that the message does not satisfy, and why."""

    constraint: Constraint
    why: str


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """The result of one filter; it matched if nothing failed."""

    filter: Filter
    failures: tuple[Failure, ...]

    @property
    def matched(self) -> bool:
        """Whether every constraint held."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdict of every filter of a predicate, in the predicate's order."""

    verdicts: tuple[FilterVerdict, ...]

    @property
    def matched(self) -> bool:
        """Whether any filter matched."""
        return any(verdict.matched for verdict in self.verdicts)


def explain(predicate: Predicate, message: Message) -> Explanation:
    """The verdict of each filter on `message`, with all failing constraints."""
    return Explanation(tuple(_judge(f, message) for f in predicate.filters))


def render(explanation: Explanation) -> str:
    """The explanation as lines of text."""
    if not explanation.verdicts:
        return "no match: false matches nothing"
    lines = ["match" if explanation.matched else "no match"]
    for verdict in explanation.verdicts:
        lines.append(f"  {'yes' if verdict.matched else 'no '}  {format_filter(verdict.filter)}")
        lines.extend(
            f"         {format_constraint(failure.constraint)}: {failure.why}"
            for failure in verdict.failures
        )
    return "\n".join(lines)


def _judge(filter_: Filter, message: Message) -> FilterVerdict:
    return FilterVerdict(
        filter_,
        tuple(
            Failure(constraint, _why(constraint, message.attributes.get(constraint.attribute)))
            for constraint in filter_.constraints
            if not constraint.matches(message)
        ),
    )


def _why(constraint: Constraint, value: Value | None) -> str:
    """Explains a constraint that is known to fail."""
    name, op = format_name(constraint.attribute), constraint.op
    if value is None:
        return f"{name} is missing"
    shown = format_value(value)
    if op is Op.ABSENT:
        return f"{name} is there: it is {shown}"
    expected = _expected_kinds(constraint)
    if kind_of(value) not in expected and op is not Op.NE:
        return f"{name} is the {kind_of(value)} {shown}, a {' or '.join(expected)} was expected"
    if op in ORDERED and isinstance(value, float) and math.isnan(value):
        return f"{name} is {shown}, which is neither below nor above anything"
    words = _WORDS.get(op, f"which is not {op.value}")
    return f"{name} is {shown}, {words} {format_operand(constraint.operand)}"


def _expected_kinds(constraint: Constraint) -> list[str]:
    if constraint.op in TEXTUAL:
        return ["string"]
    operand = constraint.operand
    choices = operand if isinstance(operand, tuple) else (operand,)
    return list(dict.fromkeys(kind_of(choice) for choice in choices if choice is not None))
