"""One filter, asked of what a record entry tells of a message.

    NO      the message does not match
    MAYBE   it matches as far as the entry tells, but a constraint is not told of [F17]
    YES     it matches

An entry tells of an attribute by tags, and of numbers that the publisher chose
also by their value at half precision. What follows of each:

    = and in        one of the values' tags is there, or none is
    not exists      the presence tag is there or not
    !=              the presence tag is there, and the tag of the value is not
    what a schema   the tags of the whole constraint are there, or one is not; exact
    encodes         where `content.tags` says so
    ranges          by the number: all values that round to it lie within, or all
                    outside; or it is the value itself, whose tag is there
    anything else   no more than that the attribute is there

All is up to collisions: two tags that share a fingerprint are taken for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import copysign, inf
from struct import Struct
from typing import Final, NamedTuple

from penstock.content.constraint import Op
from penstock.content.extent import Extent, extents_of
from penstock.content.filter import Filter
from penstock.content.interval import Interval, after, before
from penstock.content.tags import Encoder, is_exactly_encodable, presence_tag, value_tags
from penstock.content.value import Key, Value, key_of
from penstock.wire.frames.record import FingerprintEntry

NO: Final = 0
MAYBE: Final = 1
YES: Final = 2

_HALF: Final = Struct(">e")
_INFINITY_BITS: Final = 0x7C00
# What would come after the highest half, 65 504, if there were no infinity.
_HALF_TOP: Final = 65_536.0


class Choice(NamedTuple):
    """An attribute with a value out of several, each known by the fingerprint of its tag."""

    name: str
    prints: Mapping[Key, int]


class Question:
    """A filter that some message may match."""

    __slots__ = ("_rest", "choices")

    def __init__(self, choices: tuple[Choice, ...], rest: tuple[_Aspect, ...]) -> None:
        # Attributes of which the values allowed can be listed; the shortest list comes first.
        self.choices = choices
        # What is said of other attributes.
        self._rest = rest

    @property
    def is_of_choices(self) -> bool:
        """Whether nothing more is asked than one of some values, of each attribute."""
        return not self._rest

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints alone are enough for a YES."""
        return all(aspect.is_certain for aspect in self._rest)

    @property
    def is_of_values(self) -> bool:
        """Whether names and numbers are not enough to say MAYBE; to be sure they may not be."""
        return bool(self.choices) or any(aspect.is_of_values for aspect in self._rest)

    def ask(self, entry: FingerprintEntry) -> int:
        """NO, MAYBE or YES."""
        values = set(entry.values)
        for choice in self.choices:
            if values.isdisjoint(choice.prints.values()):
                return NO
        answer = YES
        for aspect in self._rest:
            answer = min(answer, aspect.ask(entry, values))
            if answer is NO:
                break
        return answer


def question_of(interest: Filter, encoder: Encoder) -> Question | None:
    """The question, None for a filter that nothing can match."""
    choices = []
    rest = []
    for name, extent in extents_of(interest).items():
        if extent.contradictory:
            return None
        if extent.points is None:
            rest.append(_Aspect(name, extent, encoder))
        else:
            prints = {key_of(point): _print(name, point, encoder) for point in extent.points}
            choices.append(Choice(name, prints))
    choices.sort(key=lambda choice: len(choice.prints))
    return Question(tuple(choices), tuple(rest))


class _Aspect:
    """What is said of one attribute whose values cannot be listed."""

    __slots__ = (
        "_encoder",
        "_excluded",
        "_interval",
        "_is_absent",
        "_is_exact",
        "_name",
        "_presence",
        "_required",
    )

    def __init__(self, name: str, extent: Extent, encoder: Encoder) -> None:
        self._name = name
        self._encoder = encoder
        self._presence = encoder.fingerprint(presence_tag(name))
        self._is_absent = extent.absent
        self._required = encoder.filter_fingerprints(Filter(extent.constraints)).values
        self._excluded = [_print(name, value, encoder) for value in extent.operands(Op.NE)]
        # What is excluded is told apart by its tag; whether the rest is exact, the tags know.
        others = Filter([c for c in extent.constraints if c.op is not Op.NE])
        self._is_exact = is_exactly_encodable(others, encoder.schema)
        self._interval = extent.interval

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints tell all that is said."""
        return self._is_absent or self._is_exact

    @property
    def is_of_values(self) -> bool:
        """Whether some value tags must be there, or must not."""
        return bool(self._required or self._excluded)

    def ask(self, entry: FingerprintEntry, values: set[int]) -> int:
        """NO, MAYBE or YES."""
        if (self._presence in entry.presence) is self._is_absent:
            return NO
        if self._is_absent:
            return YES
        if not values.issuperset(self._required) or not values.isdisjoint(self._excluded):
            return NO
        if self._is_exact:
            return YES
        for presence, number in entry.numbers:
            if presence == self._presence:
                return self._ask_number(number, values)
        return MAYBE

    def _ask_number(self, number: float, values: set[int]) -> int:
        interval = self._interval
        assert interval is not None, "only ranges and texts are not exact"
        if interval.kind == "string":
            return NO
        cell = _rounding_cell(abs(number), copysign(1.0, number) < 0)
        if cell.within(interval):
            return YES
        if not cell.meets(interval):
            return NO
        # Whole numbers up to 2048, and many others, are their own half.
        if _print(self._name, number, self._encoder) in values:
            return YES if interval.holds(number) else NO
        return MAYBE


def _print(name: str, value: Value, encoder: Encoder) -> int:
    """The fingerprint that tells an attribute's value."""
    return encoder.fingerprint(value_tags(name, value)[0])


@lru_cache(maxsize=4096)
def _rounding_cell(size: float, is_negative: bool) -> Interval:
    """All numbers whose nearest half this may be, its ends with it.

    The sign is that of the half: there are two zeros, and each has its side.
    """
    bits = int.from_bytes(_HALF.pack(size), "big")
    low = 0.0 if not bits else (_half(bits - 1) + min(size, _HALF_TOP)) / 2
    high = inf if bits == _INFINITY_BITS else (size + _half(bits + 1)) / 2
    if is_negative:
        low, high = -high, -low
    return Interval("number", before(low), after(high))


def _half(bits: int) -> float:
    if bits == _INFINITY_BITS:
        return _HALF_TOP
    return float(_HALF.unpack(bits.to_bytes(2, "big"))[0])
