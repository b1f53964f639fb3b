"""Splits a filter into pieces that the index can look up and test quickly.

Constraints on one attribute are merged where that is exact: numeric bounds into one closed
interval, an interval of one number into an equality. Constraints without a quick form become
`Other` and are tested one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import frexp, inf, isfinite, ldexp, nextafter
from typing import Any, Final, TypeAlias

from msgspec import Struct

from penstock.content.constraint import ABSENT, CHOOSING, ORDERED, Constraint, Op
from penstock.content.filter import Filter
from penstock.content.value import Key

# Below this magnitude every integer is also a float, so `< 5` can be written `<= 4.999…` exactly.
EXACT_BELOW: Final = 2.0**53
# Whether an operator bounds from below, and which way an open bound is closed.
_ENDS: Final = {
    Op.GE: (True, 0.0),
    Op.GT: (True, inf),
    Op.LE: (False, 0.0),
    Op.LT: (False, -inf),
}
_SOUGHT: Final = frozenset({Op.PREFIX, Op.SUFFIX, Op.CONTAINS})
_EXISTS: Final = Op.EXISTS
# A cell is between 1/8 and 1/2 as wide as the intervals that are filed under it.
CELLS_MAX: Final = 10


class Equal(Struct, frozen=True, gc=False):
    """The value is one of `keys`."""

    attribute: str
    constraints: tuple[Constraint, ...]
    keys: tuple[Key, ...]


class Within(Struct, frozen=True, gc=False):
    """The value is a number with `low <= value <= high`; one of them may be infinite."""

    attribute: str
    constraints: tuple[Constraint, ...]
    low: float
    high: float
    cells: Cells | None


class Text(Struct, frozen=True, gc=False):
    """The value is a string with `pattern` at its start, at its end or anywhere, by `op`."""

    attribute: str
    constraints: tuple[Constraint, ...]
    op: Op
    pattern: str


class Present(Struct, frozen=True, gc=False):
    """The attribute is present."""

    attribute: str
    constraints: tuple[Constraint, ...]


class Other(Struct, frozen=True, gc=False):
    """Anything else."""

    attribute: str
    constraints: tuple[Constraint, ...]

    @property
    def needs_value(self) -> bool:
        """False if it holds for a missing attribute."""
        return self.constraints[0].op is not ABSENT


class Cells(Struct, frozen=True, gc=False):
    """The cells that a bounded interval touches: x is in cell `x * scale // 1`.

    Scales are powers of four, so the product is exact and the floor monotone: no number of the
    interval lies in another cell.
    """

    scale: float
    first: float
    last: float

    def __iter__(self) -> Iterator[float]:
        cell = self.first
        while cell <= self.last:
            yield cell
            cell += 1.0


Piece: TypeAlias = Equal | Within | Text | Present | Other

# Attribute, test and operand.
Test: TypeAlias = tuple[str, Callable[[Any, Any], bool], Any]


def pieces_of(f: Filter) -> list[Piece]:
    """The filter as pieces that must all hold, those that most messages fail first."""
    equal: list[Piece] = []
    bounds: dict[str, list[Constraint]] = {}
    texts: list[Piece] = []
    others: list[Piece] = []
    for constraint in f.constraints:
        op, attribute, own = constraint.op, constraint.attribute, (constraint,)
        if op in CHOOSING:
            equal.append(Equal(attribute, own, constraint.choice_keys))
        elif op in ORDERED and _is_plain_bound(constraint.operand):
            bounds.setdefault(attribute, []).append(constraint)
        elif op in _SOUGHT:
            texts.append(Text(attribute, own, op, constraint.operand))  # type: ignore[arg-type]
        elif op is _EXISTS:
            others.append(Present(attribute, own))
        else:
            others.append(Other(attribute, own))
    if bounds:
        equal += [_merged(attribute, constraints) for attribute, constraints in bounds.items()]
    return equal + texts + others


def tests_of(piece: Piece) -> tuple[Test, ...]:
    """The tests of this piece, one constraint or merged interval each."""
    if type(piece) is Within:
        return ((piece.attribute, _is_within, (piece.low, piece.high)),)
    return tuple((c.attribute, c.test, c.operand) for c in piece.constraints)


def settles(pivot: Piece) -> bool:
    """Whether being found under this piece proves that it holds.

    Intervals are found by cells that extend beyond them, or among others that are not sorted yet.
    """
    return type(pivot) is not Within and type(pivot) is not Other


def has_check(piece: Piece) -> bool:
    """Whether one interval test decides the piece."""
    if type(piece) is Equal:
        return len(piece.keys) == 1 and _is_plain_key(piece.keys[0])
    return type(piece) is Within or type(piece) is Present


def _is_plain_key(key: Key) -> bool:
    """Whether no other value has the same column entry, where numbers are floats."""
    return not isinstance(key, (int, float)) or -EXACT_BELOW < key < EXACT_BELOW


def _is_plain_bound(operand: Any) -> bool:
    return type(operand) is not str and -EXACT_BELOW < operand < EXACT_BELOW


def _merged(attribute: str, bounds: list[Constraint]) -> Piece:
    low, high = -inf, inf
    for constraint in bounds:
        is_low, beyond = _ENDS[constraint.op]
        bound = float(constraint.operand)  # type: ignore[arg-type]
        if beyond:
            bound = nextafter(bound, beyond)
        if is_low:
            low = max(low, bound)
        else:
            high = min(high, bound)
    if low == high:
        return Equal(attribute, tuple(bounds), (low,))
    return Within(attribute, tuple(bounds), low, high, _cells(low, high))


def _cells(low: float, high: float) -> Cells | None:
    width = high - low
    if not isfinite(width) or width <= 0:
        return None
    exponent = frexp(width)[1] - 2
    exponent -= exponent & 1
    if not -900 < exponent < 900:
        return None
    scale = ldexp(1.0, -exponent)
    first, last = low * scale // 1, high * scale // 1
    is_exact = first > -(2.0**52) and last < 2.0**52
    return Cells(scale, first, last) if is_exact and last - first < CELLS_MAX else None


def _is_within(value: Any, ends: tuple[float, float]) -> bool:
    return (type(value) is float or type(value) is int) and ends[0] <= value <= ends[1]
