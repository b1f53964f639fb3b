"""One constraint: a test of one attribute.

A constraint holds for a value or not; there is no third result. Negation is another constraint,
which holds for the *values of the same kind* that the first rejects (`NEGATION`), so that neither
holds when the attribute is missing. There are no regular expressions: the most expensive test
searches for one string of at most a thousand bytes in another.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from sys import intern
from typing import Any, Final, TypeAlias

from penstock.content.limits import CHOICES_MAX
from penstock.content.message import Message
from penstock.content.value import (
    Key,
    Value,
    canonical,
    check_name,
    check_value,
    equal,
    is_finite,
    key_of,
    kind_of,
    shorten,
)
from penstock.kernel.errors import UsageError


class Op(Enum):
    """The operators; the value is how each is written."""

    EXISTS = "exists"
    ABSENT = "not exists"
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"
    NOT_PREFIX = "not prefix"
    NOT_SUFFIX = "not suffix"
    NOT_CONTAINS = "not contains"

    # Members are singletons: hashing by identity saves a Python call in every lookup.
    __hash__ = object.__hash__


# An attribute lookup on the enum class costs more than the comparison it is for.
ABSENT: Final = Op.ABSENT

# A single value, the choices of `in`, or None for `exists`.
Operand: TypeAlias = Value | tuple[Value, ...] | None

PRESENCE: Final = frozenset({Op.EXISTS, Op.ABSENT})
ORDERED: Final = frozenset({Op.LT, Op.LE, Op.GT, Op.GE})
CHOOSING: Final = frozenset({Op.EQ, Op.IN})
TEXTUAL: Final = frozenset(
    {Op.PREFIX, Op.SUFFIX, Op.CONTAINS, Op.NOT_PREFIX, Op.NOT_SUFFIX, Op.NOT_CONTAINS}
)

# `in` has no single opposite: its negation is a conjunction of `!=`.
NEGATION: Final = {
    Op.EXISTS: Op.ABSENT,
    Op.EQ: Op.NE,
    Op.LT: Op.GE,
    Op.LE: Op.GT,
    Op.PREFIX: Op.NOT_PREFIX,
    Op.SUFFIX: Op.NOT_SUFFIX,
    Op.CONTAINS: Op.NOT_CONTAINS,
}
NEGATION.update({opposite: op for op, opposite in list(NEGATION.items())})


# One test per operator and, where it matters, kind of operand: matching calls nothing else, so
# these are written out rather than built from `equal` and `kind_of`.
_TESTS: Final[dict[tuple[Op, str], Callable[[Any, Any], bool]]] = {
    (Op.EXISTS, ""): lambda _value, _none: True,
    (Op.ABSENT, ""): lambda _value, _none: False,
    (Op.EQ, "number"): lambda value, number: value == number and type(value) is not bool,
    (Op.EQ, "boolean"): lambda value, boolean: value is boolean,
    (Op.EQ, "string"): lambda value, string: value == string,
    (Op.NE, "number"): lambda value, number: value != number or type(value) is bool,
    (Op.NE, "boolean"): lambda value, boolean: value is not boolean,
    (Op.NE, "string"): lambda value, string: value != string,
    (Op.LT, "number"): lambda v, number: (type(v) is float or type(v) is int) and v < number,
    (Op.LE, "number"): lambda v, number: (type(v) is float or type(v) is int) and v <= number,
    (Op.GT, "number"): lambda v, number: (type(v) is float or type(v) is int) and v > number,
    (Op.GE, "number"): lambda v, number: (type(v) is float or type(v) is int) and v >= number,
    (Op.LT, "string"): lambda value, string: type(value) is str and value < string,
    (Op.LE, "string"): lambda value, string: type(value) is str and value <= string,
    (Op.GT, "string"): lambda value, string: type(value) is str and value > string,
    (Op.GE, "string"): lambda value, string: type(value) is str and value >= string,
    (Op.IN, ""): lambda value, choices: any(equal(value, choice) for choice in choices),
    (Op.PREFIX, "string"): lambda value, part: type(value) is str and value.startswith(part),
    (Op.SUFFIX, "string"): lambda value, part: type(value) is str and value.endswith(part),
    (Op.CONTAINS, "string"): lambda value, part: type(value) is str and part in value,
    (Op.NOT_PREFIX, "string"): lambda v, part: type(v) is str and not v.startswith(part),
    (Op.NOT_SUFFIX, "string"): lambda v, part: type(v) is str and not v.endswith(part),
    (Op.NOT_CONTAINS, "string"): lambda value, part: type(value) is str and part not in value,
}
_RANK: Final = {op: rank for rank, op in enumerate(Op)}


class Constraint:
    """Immutable, canonical (whole floats are integers, choices are sorted), hashable."""

    __slots__ = ("_identity", "attribute", "op", "operand", "test")

    attribute: str
    op: Op
    operand: Operand
    test: Callable[[Any, Any], bool]

    def __init__(self, attribute: str, op: Op, operand: Operand = None) -> None:
        self.attribute = intern(check_name(attribute))
        self.op = op
        self.operand = _check_operand(op, operand)
        self.test = _test_for(op, self.operand)
        self._identity = (self.attribute, _RANK[op], _order_of(self.operand))

    def holds(self, value: Value) -> bool:
        """Whether a message whose attribute has this value satisfies the constraint."""
        return self.test(value, self.operand)

    def matches(self, message: Message) -> bool:
        """Whether the message satisfies the constraint."""
        value = message.attributes.get(self.attribute)
        if value is None:
            return self.op is ABSENT
        return self.test(value, self.operand)

    @property
    def choices(self) -> tuple[Value, ...]:
        """The allowed values of `=` and `in`."""
        assert self.op in CHOOSING
        return self.operand if isinstance(self.operand, tuple) else (self.operand,)  # type: ignore[return-value]

    @property
    def choice_keys(self) -> tuple[Key, ...]:
        """The choices as dictionary keys."""
        if isinstance(self.operand, tuple):
            return tuple(map(key_of, self.operand))
        return (key_of(self.operand),)  # type: ignore[arg-type]

    def __lt__(self, other: Constraint) -> bool:
        return self._identity < other._identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Constraint({self.attribute!r}, {self.op}, {self.operand!r})"

    def __reduce__(self) -> tuple[type[Constraint], tuple[str, Op, Operand]]:
        return Constraint, (self.attribute, self.op, self.operand)


def _test_for(op: Op, operand: Operand) -> Callable[[Any, Any], bool]:
    has_kind = operand is not None and not isinstance(operand, tuple)
    return _TESTS[op, kind_of(operand) if has_kind else ""]  # type: ignore[arg-type]


def _check_operand(op: Op, operand: object) -> Operand:
    if op in PRESENCE:
        if operand is not None:
            raise UsageError(f"'{op.value}' takes no value")
        return None
    if op is Op.IN:
        return _check_choices(operand)
    value = _check_single(operand)
    if op in ORDERED and type(value) is bool:
        raise UsageError(f"booleans have no order: write = or != instead of {op.value}")
    if op in TEXTUAL:
        if type(value) is not str:
            raise UsageError(f"'{op.value}' takes a string, not {shorten(operand)}")
        if not value:
            raise UsageError(f"'{op.value}' of the empty string says nothing: write exists instead")
    return value


def _check_choices(operand: object) -> tuple[Value, ...]:
    if not isinstance(operand, (tuple, list)):
        raise UsageError(f"'in' takes several values, not {shorten(operand)}")
    if not 0 < len(operand) <= CHOICES_MAX:
        raise UsageError(f"'in' takes 1 to {CHOICES_MAX} values, not {len(operand)}")
    distinct = {_order_of(value): value for value in map(_check_single, operand)}
    return tuple(distinct[order] for order in sorted(distinct))


def _check_single(operand: object) -> Value:
    value = check_value(operand)
    if not is_finite(value):
        raise UsageError(f"a filter cannot name {value}: leave the bound out, or write exists")
    return canonical(value)


def _order_of(operand: Operand) -> tuple[Any, ...]:
    """A sort key for operands of any kind that distinguishes True from 1."""
    if operand is None:
        return ()
    if isinstance(operand, tuple):
        return tuple(_order_of(value) for value in operand)
    return (kind_of(operand), operand)
