"""Tests one filter against the description of a message in a record entry.

    NO_MATCH   the message does not match
    POSSIBLE   it matches as far as described, but the entry cannot decide a constraint [F17]
    CERTAIN    it matches

An entry describes attributes by tags; numeric attributes that the publisher selected also
have their value at half precision. Constraints are tested as follows:

    = and in        one of the values' tags is present
    not exists      the presence tag is absent
    !=              the presence tag is present, and the tag of the value is absent
    encoded by a    all tags of the constraint are present; exact where `content.tags`
    schema          says so
    ranges          by the half-precision number: all values that round to it lie inside,
                    or all outside; or it is the exact value, whose tag is present
    anything else   only the presence of the attribute

All results are subject to collisions: tags with the same fingerprint are not told apart.
Does not know how entries are packed.
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
# The number after the largest half-precision value, 65 504, if infinity did not follow.
_FLOAT16_LIMIT: Final = 65_536.0


class Choice(NamedTuple):
    """An attribute and its allowed values, each with the fingerprint of its tag."""

    name: str
    fingerprints: Mapping[Key, int]


class EntryTest:
    """A satisfiable filter, compiled for tests against entries."""

    __slots__ = ("_attribute_tests", "value_choices")

    def __init__(
        self, value_choices: tuple[Choice, ...], attribute_tests: tuple[_AttributeTest, ...]
    ) -> None:
        # Attributes whose allowed values can be enumerated, shortest list first.
        self.value_choices = value_choices
        # Tests of all other attributes.
        self._attribute_tests = attribute_tests

    @property
    def tests_values_only(self) -> bool:
        """Whether the filter consists of enumerated values only."""
        return not self._attribute_tests

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints alone suffice for `CERTAIN`."""
        return all(attribute_test.is_certain for attribute_test in self._attribute_tests)

    @property
    def needs_values(self) -> bool:
        """Whether `POSSIBLE` depends on value tags; `CERTAIN` may depend on them in any case."""
        return bool(self.value_choices) or any(
            attribute_test.needs_values for attribute_test in self._attribute_tests
        )

    def test(self, entry: FingerprintEntry) -> int:
        """Return `NO_MATCH`, `POSSIBLE` or `CERTAIN`."""
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
    """Compile a filter; None if no message can match it."""
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
    """The constraints on one attribute whose allowed values cannot be enumerated."""

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
        # Excluded values are decided by their tags; for the rest, the schema decides exactness.
        others = Filter([c for c in extent.constraints if c.op is not Op.NE])
        self._is_exact = is_exactly_encodable(others, encoder.schema)
        self._interval = extent.interval

    @property
    def is_certain(self) -> bool:
        """Whether fingerprints decide all constraints."""
        return self._must_be_absent or self._is_exact

    @property
    def needs_values(self) -> bool:
        """Whether some value tags must be present or absent."""
        return bool(self._required or self._excluded)

    def test(self, entry: FingerprintEntry, values: set[int]) -> int:
        """Return `NO_MATCH`, `POSSIBLE` or `CERTAIN`."""
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
        # Integers up to 2048, and many other numbers, are exact at half precision.
        if _fingerprint(self._name, number, self._encoder) in values:
            return CERTAIN if interval.holds(number) else NO_MATCH
        return POSSIBLE


def _fingerprint(name: str, value: Value, encoder: Encoder) -> int:
    """Return the fingerprint of an attribute's value tag."""
    return encoder.fingerprint(value_tags(name, value)[0])


@lru_cache(maxsize=4096)
def _rounding_cell(magnitude: float, is_negative: bool) -> Interval:
    """Return the closed interval of numbers that may round to this half-precision value.

    The sign is separate from the magnitude because +0 and −0 have different intervals.
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
