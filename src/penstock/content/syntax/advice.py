"""Advice for syntax errors: the correct form of what users write out of habit."""

from __future__ import annotations

from typing import Final

from penstock.content.syntax.errors import show
from penstock.content.syntax.lexer import NO_PATTERNS, Kind, Token

_OPERATORS: Final = {
    **dict.fromkeys(
        ("like", "ilike", "rlike", "match", "matches", "regex", "regexp", "glob"), NO_PATTERNS
    ),
    **dict.fromkeys(("startswith", "starts_with", "begins"), "write prefix"),
    **dict.fromkeys(("endswith", "ends_with", "ends"), "write suffix"),
    **dict.fromkeys(("has", "includes"), "write contains"),
    "between": "write 1 <= {name} <= 2",
    "is": "write =, exists {name} or not exists {name}",
}
_VALUES: Final = {
    **dict.fromkeys(("null", "none", "nil"), "there is no null, write exists or not exists"),
    **dict.fromkeys(("nan", "inf", "infinity"), "a filter cannot name it, leave the bound out"),
}


def about_operator(name: Token, found: Token, *, negated: bool) -> str:
    """Why `found` cannot follow `name`, or `name not`."""
    if found.kind is Kind.WORD and found.text == "exists":
        return f"'exists' comes first: write {'not ' if negated else ''}exists {show(name.raw)}"
    if negated:
        reason = f"expected 'in', 'prefix', 'suffix' or 'contains' after 'not', found {found}"
    else:
        reason = f"expected an operator after {name}, found {found}"
    if found.kind is Kind.NAME and found.text.lower() in _OPERATORS:
        return f"{reason}: {_OPERATORS[found.text.lower()].format(name=show(name.raw))}"
    if negated and found.kind is Kind.COMPARISON:
        return f"{reason}: write not {show(name.raw)} {found.raw} ..."
    if found.kind is Kind.END or found.text in ("and", "or", ")"):
        return f"{reason}: write {show(name.raw)} = true, or exists {show(name.raw)}"
    return reason


def about_value(after: Token, found: Token) -> str:
    """Why `found` is no value for the operator `after`."""
    reason = f"expected a value after '{show(after.raw)}', found {found}"
    if found.kind is not Kind.NAME:
        return reason
    if found.text.lower() in _VALUES:
        return f"{reason}: {_VALUES[found.text.lower()]}"
    return f'{reason}: write "{show(found.text)}" in quotes (two attributes cannot be compared)'
