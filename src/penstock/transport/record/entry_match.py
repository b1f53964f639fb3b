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

NO_MATCH: Final = 0
POSSIBLE: Final = 1
CERTAIN: Final = 2

_FLOAT16: Final = Struct(">e")
_INFINITY_BITS: Final = 0x7C00
# What would come after the highest half, 65 504, if there were no infinity.
_FLOAT16_LIMIT: Final = 65_536.0


class Choice(NamedTuple):
    """An attribute with a value out of several, each known by the fingerprint of its tag."""

    name: str
    fingerprints: Mapping[Key, int]


class EntryTest:
    """A filter that some message may match."""

    __slots__ = ("_attribute_tests", "value_choices")

    def __init__(
        self, value_choices: tuple[Choice, ...], attribute_tests: tuple[_AttributeTest, ...]
    ) -> None:
        # Attributes of which the values allowed can be listed; the shortest list comes first.
        self.value_choices = value_choices
        # What is said of other attributes.
        self._attribute_tests = attribute_tests

    @property
    def tests_values_only(self) -> bool:
        """Whether nothing more is asked than one of some values, of each attribute."""
        return not self._attribute_tests

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints alone are enough for a YES."""
        return all(attribute_test.is_certain for attribute_test in self._attribute_tests)

    @property
    def needs_values(self) -> bool:
        """Whether names and numbers are not enough to say MAYBE; to be sure they may not be."""
        return bool(self.value_choices) or any(
            attribute_test.needs_values for attribute_test in self._attribute_tests
        )

    def test(self, entry: FingerprintEntry) -> int:
        """NO, MAYBE or YES."""
        values = set(entry.values)
        for choice in self.value_choices:
            if values.isdisjoint(choice.fingerprints.values()):
                return NO_MATCH
        result = CERTAIN
        for attribute_test in self._attribute_tests:
            result = min(result, attribute_test.test(entry, values))
            if result is NO_MATCH:
                break
        return result


def compile_entry_test(filter_: Filter, encoder: Encoder) -> EntryTest | None:
    """The question, None for a filter that nothing can match."""
    value_choices = []
    attribute_tests = []
    for name, extent in extents_of(filter_).items():
        if extent.contradictory:
            return None
        if extent.points is None:
            attribute_tests.append(_AttributeTest(name, extent, encoder))
        else:
            fingerprints = {
                key_of(point): _fingerprint(name, point, encoder) for point in extent.points
            }
            value_choices.append(Choice(name, fingerprints))
    value_choices.sort(key=lambda choice: len(choice.fingerprints))
    return EntryTest(tuple(value_choices), tuple(attribute_tests))


class _AttributeTest:
    """What is said of one attribute whose values cannot be listed."""

    __slots__ = (
        "_encoder",
        "_excluded",
        "_interval",
        "_is_exact",
        "_must_be_absent",
        "_name",
        "_presence",
        "_required",
    )

    def __init__(self, name: str, extent: Extent, encoder: Encoder) -> None:
        self._name = name
        self._encoder = encoder
        self._presence = encoder.fingerprint(presence_tag(name))
        self._must_be_absent = extent.absent
        self._required = encoder.filter_fingerprints(Filter(extent.constraints)).values
        self._excluded = [_fingerprint(name, value, encoder) for value in extent.operands(Op.NE)]
        # What is excluded is told apart by its tag; whether the rest is exact, the tags know.
        others = Filter([c for c in extent.constraints if c.op is not Op.NE])
        self._is_exact = is_exactly_encodable(others, encoder.schema)
        self._interval = extent.interval

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints tell all that is said."""
        return self._must_be_absent or self._is_exact

    @property
    def needs_values(self) -> bool:
        """Whether some value tags must be there, or must not."""
        return bool(self._required or self._excluded)

    def test(self, entry: FingerprintEntry, values: set[int]) -> int:
        """NO, MAYBE or YES."""
        if (self._presence in entry.presence) is self._must_be_absent:
            return NO_MATCH
        if self._must_be_absent:
            return CERTAIN
        if not values.issuperset(self._required) or not values.isdisjoint(self._excluded):
            return NO_MATCH
        if self._is_exact:
            return CERTAIN
        for presence, number in entry.numeric_values:
            if presence == self._presence:
                return self._test_number(number, values)
        return POSSIBLE

    def _test_number(self, number: float, values: set[int]) -> int:
        interval = self._interval
        assert interval is not None, "only ranges and texts are not exact"
        if interval.kind == "string":
            return NO_MATCH
        cell = _rounding_cell(abs(number), copysign(1.0, number) < 0)
        if cell.within(interval):
            return CERTAIN
        if not cell.meets(interval):
            return NO_MATCH
        # Whole numbers up to 2048, and many others, are their own half.
        if _fingerprint(self._name, number, self._encoder) in values:
            return CERTAIN if interval.holds(number) else NO_MATCH
        return POSSIBLE


def _fingerprint(name: str, value: Value, encoder: Encoder) -> int:
    """The fingerprint that tells an attribute's value."""
    return encoder.fingerprint(value_tags(name, value)[0])


@lru_cache(maxsize=4096)
def _rounding_cell(magnitude: float, is_negative: bool) -> Interval:
    """All numbers whose nearest half this may be, its ends with it.

    The sign is that of the half: there are two zeros, and each has its side.
    """
    bits = int.from_bytes(_FLOAT16.pack(magnitude), "big")
    low = 0.0 if not bits else (_float16(bits - 1) + min(magnitude, _FLOAT16_LIMIT)) / 2
    high = inf if bits == _INFINITY_BITS else (magnitude + _float16(bits + 1)) / 2
    if is_negative:
        low, high = -high, -low
    return Interval("number", before(low), after(high))


def _float16(bits: int) -> float:
    if bits == _INFINITY_BITS:
        return _FLOAT16_LIMIT
    return float(_FLOAT16.unpack(bits.to_bytes(2, "big"))[0])
