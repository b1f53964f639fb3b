"""The JSON form of a predicate, for programs.

    {"any": [{"all": [["price", "<", 120], ["symbol", "in", ["AMD", "ARM"]]]},
             {"all": [["volume", "exists"]]}]}

`{"all": [...]}` alone is read as a predicate of one filter. Works on objects; the caller converts
them from and to text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.content.constraint import PRESENCE, Constraint, Op, Operand
from penstock.content.filter import Filter, Predicate
from penstock.content.value import Value, check_value, shorten
from penstock.kernel.errors import UsageError

_OPS: Final = {op.value: op for op in Op}
_KINDS: Final = {dict: "an object", list: "an array", type(None): "null"}
_SHAPE: Final = 'write {"any": [{"all": [["price", "<", 120], ...]}, ...]}'


def to_json(predicate: Predicate) -> dict[str, object]:
    """The predicate as dictionaries and lists, in canonical order."""
    return {"any": [filter_to_json(f) for f in predicate.filters]}


def filter_to_json(filter_: Filter) -> dict[str, object]:
    """One filter, as in `to_json`."""
    return {"all": [constraint_to_json(c) for c in filter_.constraints]}


def constraint_to_json(constraint: Constraint) -> list[object]:
    """One constraint, as in `to_json`."""
    head: list[object] = [constraint.attribute, constraint.op.value]
    if constraint.op in PRESENCE:
        return head
    operand = constraint.operand
    return [*head, list(operand) if isinstance(operand, tuple) else operand]


def from_json(document: object) -> Predicate:
    """The predicate that `document` describes; errors begin with the path to the mistake."""
    if isinstance(document, dict) and "all" in document:
        return Predicate([_filter(document, "")])
    items = _only_member(document, "any", "")
    filters = [_filter(item, f"any[{index}]") for index, item in enumerate(items)]
    with _inside("any"):
        return Predicate(filters)


def _filter(document: object, path: str) -> Filter:
    items = _only_member(document, "all", path)
    inner = f"{path}.all" if path else "all"
    constraints = [_constraint(item, f"{inner}[{index}]") for index, item in enumerate(items)]
    with _inside(inner):
        return Filter(constraints)


def _only_member(document: object, name: str, path: str) -> list[object]:
    """The array that is the only member of an object."""
    with _inside(path):
        if not isinstance(document, dict) or set(document) != {name}:
            raise UsageError(f"expected an object with the one member {name!r}: {_SHAPE}")
        items = document[name]
        if not isinstance(items, list):
            raise UsageError(f"{name!r} must be an array, not {describe(items)}")
        return items


def _constraint(document: object, path: str) -> Constraint:
    with _inside(path):
        if not isinstance(document, list) or not 2 <= len(document) <= 3:
            raise UsageError('expected ["name", "operator", value], or ["name", "exists"]')
        name, sign = document[:2]
        op = _OPS.get(sign) if isinstance(sign, str) else None
        if op is None:
            raise UsageError(f"unknown operator {shorten(sign)}: it is one of {', '.join(_OPS)}")
        if (len(document) == 2) is not (op in PRESENCE):
            raise UsageError(f"'{op.value}' takes {'no' if op in PRESENCE else 'a'} value")
        return Constraint(name, op, _operand(document[2], op) if len(document) == 3 else None)


def _operand(document: object, op: Op) -> Operand:
    if op is Op.IN:
        if not isinstance(document, list):
            raise UsageError(f"'in' takes an array of values, not {describe(document)}")
        return tuple(map(json_value, document))
    return json_value(document)


def json_value(document: object) -> Value:
    """The value of an attribute in JSON."""
    if isinstance(document, (dict, list)) or document is None:
        raise UsageError(f"a value is a number, string or boolean, not {describe(document)}")
    return check_value(document)


def describe(document: object) -> str:
    """A JSON value for an error message."""
    return _KINDS.get(type(document)) or shorten(document)


@contextmanager
def _inside(path: str) -> Iterator[None]:
    """Prepends the path to errors about that part of the document."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{path}: {error}" if path else str(error)) from None
