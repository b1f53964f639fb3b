"""Writes a predicate as text.

The text is canonical (equal predicates give equal texts), fits on one line, and contains printable
characters only, so that any terminal can show it; parsing it returns the predicate.
"""

from __future__ import annotations

from penstock.content.constraint import PRESENCE, Constraint, Operand
from penstock.content.filter import Filter, Predicate
from penstock.content.syntax.lexer import is_bare_name
from penstock.content.value import Value

_SHORT = {"\n": "\\n", "\t": "\\t", "\\": "\\\\"}


def format_predicate(predicate: Predicate) -> str:
    """Filters joined by `or`; `false` when there is none."""
    return " or ".join(map(format_filter, predicate.filters)) or "false"


def format_filter(filter_: Filter) -> str:
    """Constraints joined by `and`; `true` when there is none."""
    return " and ".join(map(format_constraint, filter_.constraints)) or "true"


def format_constraint(constraint: Constraint) -> str:
    """One constraint, such as `price < 120`."""
    name, op = format_name(constraint.attribute), constraint.op
    if op in PRESENCE:
        return f"{op.value} {name}"
    return f"{name} {op.value} {format_operand(constraint.operand)}"


def format_operand(operand: Operand) -> str:
    """The operand of an operator: a literal, or a list of them."""
    assert operand is not None
    if isinstance(operand, tuple):
        return f"({', '.join(map(format_value, operand))})"
    return format_value(operand)


def format_name(name: str) -> str:
    """A name, in backticks if it needs them."""
    return name if is_bare_name(name) else f"`{_escape(name).replace('`', '``')}`"


def format_value(value: Value) -> str:
    """A literal; for NaN and the infinities, which have none, their usual names."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"{}"'.format(_escape(value).replace('"', '\\"'))
    return repr(value)


def _escape(text: str) -> str:
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
