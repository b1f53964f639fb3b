"""The combined constraints of one filter on one attribute.

Covering and encoding both work on extents: they use the same normal form, so a wider extent is
always encoded in fewer tags. An extent knows nothing of other attributes, nor of how values are
encoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter
from penstock.content.interval import (
    BOTTOM,
    NUMBERS,
    STRINGS,
    TOP,
    Interval,
    after,
    before,
    prefixed,
    single,
)
from penstock.content.value import Value

_EXTENTS_CACHED_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Extent:
    """The allowed values, in the most specific form known.

    `points` lists them if they are finitely many. Otherwise each of them lies in `interval` (None:
    any kind of value is possible), ends with `suffix`, contains each string of `contains`, and
    satisfies all of `constraints`. A contradictory extent allows nothing, and its other fields are
    meaningless.
    """

    constraints: tuple[Constraint, ...]
    absent: bool = False
    contradictory: bool = False
    points: tuple[Value, ...] | None = None
    interval: Interval | None = None
    suffix: str = ""
    contains: tuple[str, ...] = ()

    def holds(self, value: Value) -> bool:
        """Whether a value satisfies every constraint."""
        return all(constraint.holds(value) for constraint in self.constraints)

    def operands(self, op: Op) -> list[Any]:
        """The operands of the constraints with this operator."""
        return [c.operand for c in self.constraints if c.op is op]

    def common_prefix(self) -> str:
        """The common prefix of all values, if they are strings."""
        interval = self.interval
        return interval.common_prefix() if interval and interval.kind == "string" else ""

    @property
    def encodes_presence_only(self) -> bool:
        """Whether no schema can encode more of it than presence."""
        if self.points is not None or self.suffix or self.common_prefix():
            return False
        interval = self.interval
        return (
            interval is None
            or interval.kind == "string"
            or interval.low == BOTTOM
            or interval.high == TOP
        )


@lru_cache(maxsize=_EXTENTS_CACHED_MAX)
def extents_of(interest: Filter) -> Mapping[str, Extent]:
    """The extent of every attribute that the filter names, sorted by name."""
    groups = interest.by_attribute()
    return MappingProxyType({name: collate(group) for name, group in groups.items()})


def collate(constraints: Sequence[Constraint]) -> Extent:
    """Combines several constraints on one attribute.

    1. Absence is compatible with nothing else.
    2. `=` and `in` give points; a point remains if every other constraint holds for it.
    3. Ranges and prefixes are intersected to one interval. Any constraint on strings makes it an
       interval of strings; two kinds contradict each other.
    4. Values excluded at an end of the interval move that end, until nothing changes. An interval
       of one value is a point, and continues at 2.
    5. The longest suffix must end with all others; required substrings must not be excluded.
    """
    own = tuple(constraints)
    void = Extent(own, contradictory=True)
    if any(c.op is Op.ABSENT for c in own):
        return Extent(own, absent=True) if all(c.op is Op.ABSENT for c in own) else void
    for constraint in own:
        if constraint.op is Op.EQ or constraint.op is Op.IN:
            return _finite(own, constraint.choices)
    intervals = [run for run in map(_interval_of, own) if run is not None]
    if not intervals:
        return Extent(own)
    interval = intervals[0]
    for other in intervals[1:]:
        if other.kind != interval.kind:
            return void
        interval = interval.narrowed(other)
    interval = _trimmed(interval, [hole for hole in map(_hole_of, own) if hole is not None])
    if interval.is_empty:
        return void
    points = interval.points()
    if points is not None:
        return _finite(own, points)
    if interval.kind == "number":
        return Extent(own, interval=interval)
    return _textual(own, interval)


def _finite(own: tuple[Constraint, ...], choices: tuple[Value, ...]) -> Extent:
    points = tuple(point for point in choices if all(c.holds(point) for c in own))
    return Extent(own, points=points, contradictory=not points)


def _textual(own: tuple[Constraint, ...], interval: Interval) -> Extent:
    extent = Extent(own, interval=interval)
    suffixes: list[str] = extent.operands(Op.SUFFIX)
    suffix = max(suffixes, key=len, default="")
    extent = Extent(
        own, interval=interval, suffix=suffix, contains=tuple(extent.operands(Op.CONTAINS))
    )
    required = (extent.common_prefix(), suffix, *extent.contains)
    if (
        not all(suffix.endswith(other) for other in suffixes)
        or any(suffix.endswith(end) for end in extent.operands(Op.NOT_SUFFIX))
        or any(part in whole for part in extent.operands(Op.NOT_CONTAINS) for whole in required)
    ):
        return Extent(own, contradictory=True)
    return extent


def _interval_of(constraint: Constraint) -> Interval | None:
    """The smallest interval that contains all allowed values; None for any kind."""
    op = constraint.op
    operand: Any = constraint.operand
    match op:
        case Op.EXISTS | Op.ABSENT | Op.EQ | Op.NE | Op.IN:
            return None
        case Op.PREFIX:
            return prefixed(operand)
        case Op.SUFFIX | Op.CONTAINS:
            # No string of that length or more sorts before this many NULs.
            return Interval("string", before("\0" * len(operand)), TOP)
        case Op.NOT_PREFIX | Op.NOT_SUFFIX | Op.NOT_CONTAINS:
            return STRINGS
    whole = STRINGS if isinstance(operand, str) else NUMBERS
    match op:
        case Op.LT:
            return Interval(whole.kind, whole.low, before(operand))
        case Op.LE:
            return Interval(whole.kind, whole.low, after(operand))
        case Op.GT:
            return Interval(whole.kind, after(operand), TOP)
        case Op.GE:
            return Interval(whole.kind, before(operand), TOP)


def _hole_of(constraint: Constraint) -> Interval | None:
    """An interval that the constraint excludes, if any."""
    operand: Any = constraint.operand
    match constraint.op:
        case Op.NE:
            return None if isinstance(operand, bool) else single(operand)
        case Op.NOT_PREFIX | Op.NOT_CONTAINS:
            return prefixed(operand)
    return None


def _trimmed(interval: Interval, holes: list[Interval]) -> Interval:
    moved = True
    while moved and not interval.is_empty:
        before_pass = interval
        for hole in holes:
            interval = interval.without(hole)
        moved = interval != before_pass
    return interval
