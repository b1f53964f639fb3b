"""Intervals of ordered values of one kind, with open or closed ends.

An end is a *cut* between two values: `(0, v, 0)` lies just below v and `(0, v, 1)` just above it,
so that open and closed ends compare as tuples do. Strings are not dense: the next string after s is
s + NUL, and the cut between them is always written `(0, s + NUL, 0)`, so that equal intervals of
strings have equal cuts.

Numbers are treated as dense: between any two there is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from penstock.content.limits import CHOICES_MAX
from penstock.content.value import Value, kind_of

Cut: TypeAlias = tuple[Any, ...]
Kind: TypeAlias = Literal["number", "string"]

# Outside all values, including the infinities.
BOTTOM: Final[Cut] = (-1,)
TOP: Final[Cut] = (1,)

_LAST_CHARACTER: Final = "\U0010ffff"
# No valid string contains the code points between these two.
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


def before(value: Value) -> Cut:
    """The cut just below a value."""
    return (0, value, 0)


def after(value: Value) -> Cut:
    """The cut just above a value."""
    return (0, value + "\0", 0) if isinstance(value, str) else (0, value, 1)


def after_prefix(prefix: str) -> Cut:
    """The cut just above every string that starts with `prefix`."""
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return TOP
    last = ord(stem[-1])
    following = _AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1
    return before(stem[:-1] + chr(following))


@dataclass(frozen=True, slots=True)
class Interval:
    """The values of one kind between two cuts."""

    kind: Kind
    low: Cut
    high: Cut

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing between the cuts."""
        return self.low >= self.high

    def holds(self, value: Value) -> bool:
        """Whether the value lies between the cuts."""
        return kind_of(value) == self.kind and self.low <= before(value) < self.high

    def within(self, other: Interval) -> bool:
        """Whether all of this interval lies in the other."""
        return self.kind == other.kind and other.low <= self.low and self.high <= other.high

    def meets(self, other: Interval) -> bool:
        """Whether the two share a value."""
        return self.kind == other.kind and max(self.low, other.low) < min(self.high, other.high)

    def narrowed(self, other: Interval) -> Interval:
        """The intersection with another interval of the same kind."""
        return Interval(self.kind, max(self.low, other.low), min(self.high, other.high))

    def without(self, hole: Interval) -> Interval:
        """This interval without a hole at one of its ends; a hole inside changes nothing."""
        low, high = self.low, self.high
        if hole.kind == self.kind:
            if hole.low <= low < hole.high:
                low = hole.high
            if hole.low < high <= hole.high:
                high = hole.low
        return Interval(self.kind, low, high)

    def points(self) -> tuple[Value, ...] | None:
        """The values one by one, if they are few enough to list."""
        if self.low == BOTTOM or self.high == TOP:
            return None
        low, high = self.low[1], self.high[1]
        if self.kind == "number":
            return (low,) if low == high else None
        # A string followed only by NULs leaves no room for others in between.
        if high.startswith(low) and not high[len(low) :].strip("\0"):
            count = len(high) - len(low)
            return tuple(low + "\0" * i for i in range(count)) if count <= CHOICES_MAX else None
        return None

    def common_prefix(self) -> str:
        """The longest common prefix of all strings in a non-empty interval of strings."""
        low = self.low[1]
        high = "" if self.high == TOP else self.high[1]
        length = 0
        for ours, theirs in zip(low, high, strict=False):
            if ours != theirs:
                break
            length += 1
        while length < len(low) and self.high <= after_prefix(low[: length + 1]):
            length += 1
        return str(low[:length])


STRINGS: Final = Interval("string", before(""), TOP)
NUMBERS: Final = Interval("number", BOTTOM, TOP)


def prefixed(prefix: str) -> Interval:
    """All strings that start with `prefix`."""
    return Interval("string", before(prefix), after_prefix(prefix))


def single(value: Value) -> Interval:
    """The interval of one number or string."""
    return Interval("string" if isinstance(value, str) else "number", before(value), after(value))
