"""What several constraints on one attribute say together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.constraint import Constraint, Op
from penstock.content.extent import Extent, collate, extents_of
from penstock.content.filter import Filter
from penstock.content.interval import (
    BOTTOM,
    STRINGS,
    TOP,
    Interval,
    after,
    after_prefix,
    before,
    prefixed,
)
from penstock.content.value import Value
from tests.content.strategies import constraints, values

LAST = "\U0010ffff"


def extent(*rules: tuple[Op, object]) -> Extent:
    return collate([Constraint("x", op, operand) for op, operand in rules])  # type: ignore[arg-type]


def number_interval(low: tuple[object, ...], high: tuple[object, ...]) -> Interval:
    return Interval("number", low, high)


@pytest.mark.parametrize(
    ("rules", "points"),
    [
        ([(Op.EQ, 5)], (5,)),
        ([(Op.EQ, 5), (Op.LT, 6), (Op.NE, "a")], (5,)),
        ([(Op.IN, [1, 2, True, "a"]), (Op.GE, 2)], (2,)),
        ([(Op.IN, [1, 2, True]), (Op.NE, 1)], (True, 2)),
        ([(Op.GE, 5), (Op.LE, 5)], (5,)),
        ([(Op.GE, "a"), (Op.LE, "a")], ("a",)),
        ([(Op.LE, "")], ("",)),
        ([(Op.LT, "\0\0")], ("", "\0")),
        ([(Op.GT, "a"), (Op.LT, "a\0\0")], ("a\0",)),
        ([(Op.IN, ["ab", "b"]), (Op.PREFIX, "a")], ("ab",)),
    ],
)
def test_few_values_are_points(rules: list[tuple[Op, object]], points: tuple[Value, ...]) -> None:
    found = extent(*rules).points
    assert found is not None
    assert sorted(map(repr, found)) == sorted(map(repr, points))


@pytest.mark.parametrize(
    ("rules", "interval"),
    [
        ([(Op.LT, 5)], number_interval(BOTTOM, before(5))),
        ([(Op.GE, 1), (Op.GT, 2), (Op.LE, 9)], number_interval(after(2), after(9))),
        ([(Op.GE, 1), (Op.LE, 9), (Op.NE, 1)], number_interval(after(1), after(9))),
        ([(Op.GE, 1), (Op.LE, 9), (Op.NE, 5)], number_interval(before(1), after(9))),
        ([(Op.GE, 1), (Op.NE, 1), (Op.NE, True), (Op.NE, "a")], number_interval(after(1), TOP)),
        ([(Op.PREFIX, "ab")], Interval("string", before("ab"), before("ac"))),
        ([(Op.GE, "ab"), (Op.LT, "ac")], prefixed("ab")),
        ([(Op.GT, "ab"), (Op.PREFIX, "a")], Interval("string", before("ab\0"), before("b"))),
        ([(Op.LE, "b"), (Op.NE, "b")], Interval("string", before(""), before("b"))),
        ([(Op.GE, "ab"), (Op.NOT_PREFIX, "a")], Interval("string", before("b"), TOP)),
        ([(Op.NOT_CONTAINS, LAST)], Interval("string", before(""), before(LAST))),
        ([(Op.NOT_SUFFIX, "a")], STRINGS),
    ],
)
def test_ranges_and_prefixes_are_one_interval(
    rules: list[tuple[Op, object]], interval: Interval
) -> None:
    found = extent(*rules)
    assert found.interval == interval
    assert not found.contradictory


@pytest.mark.parametrize(
    "rules",
    [
        [(Op.EQ, 1), (Op.EQ, 2)],
        [(Op.EQ, 1), (Op.EQ, True)],
        [(Op.IN, [1, 2]), (Op.GT, 2)],
        [(Op.ABSENT, None), (Op.EXISTS, None)],
        [(Op.ABSENT, None), (Op.NE, 1)],
        [(Op.GT, 5), (Op.LT, 5)],
        [(Op.GE, 5), (Op.LT, 5)],
        [(Op.GE, 5), (Op.LE, 5), (Op.NE, 5)],
        [(Op.GT, 5), (Op.LT, "a")],
        [(Op.GT, 5), (Op.SUFFIX, "a")],
        [(Op.LT, "")],
        [(Op.GT, "a"), (Op.LT, "a\0")],
        [(Op.PREFIX, "ab"), (Op.PREFIX, "b")],
        [(Op.PREFIX, "ab"), (Op.NOT_PREFIX, "a")],
        [(Op.PREFIX, "ab"), (Op.NOT_CONTAINS, "b")],
        [(Op.GE, "a"), (Op.LE, "b"), (Op.NOT_PREFIX, "a"), (Op.NE, "b")],
        [(Op.SUFFIX, "ab"), (Op.SUFFIX, "b"), (Op.SUFFIX, "cab"), (Op.SUFFIX, "bab")],
        [(Op.SUFFIX, "ab"), (Op.NOT_SUFFIX, "b")],
        [(Op.SUFFIX, "ab"), (Op.NOT_CONTAINS, "a")],
        [(Op.CONTAINS, "abc"), (Op.NOT_CONTAINS, "b")],
        [(Op.SUFFIX, "ab"), (Op.LT, "\0\0")],
    ],
)
def test_contradictions_are_seen(rules: list[tuple[Op, object]]) -> None:
    assert extent(*rules).contradictory


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("ab", before("ac")),
        (f"a{LAST}", before("b")),
        (LAST, TOP),
        (LAST * 2, TOP),
        ("\ud7ff", before("\ue000")),  # the surrogates between them occur in no string
    ],
)
def test_a_prefix_ends_before_the_next_one(prefix: str, end: tuple[object, ...]) -> None:
    assert after_prefix(prefix) == end


@pytest.mark.parametrize(
    ("rules", "prefix"),
    [
        ([(Op.PREFIX, "abc")], "abc"),
        ([(Op.GE, "abc"), (Op.LT, "abd")], "abc"),
        ([(Op.GE, "abc"), (Op.LE, "abd")], "ab"),
        ([(Op.GE, "ab"), (Op.LT, "abc")], "ab"),
        ([(Op.GT, "ab")], ""),
        ([(Op.GE, LAST), (Op.SUFFIX, "z")], LAST),
        ([(Op.GE, f"a{LAST}"), (Op.LT, "b")], f"a{LAST}"),
        ([(Op.GT, 1)], ""),
    ],
)
def test_the_common_prefix_of_an_interval(rules: list[tuple[Op, object]], prefix: str) -> None:
    assert extent(*rules).common_prefix() == prefix


def test_attributes_are_told_apart() -> None:
    found = extents_of(
        Filter([Constraint("a", Op.GT, 1), Constraint("a", Op.LT, 2), Constraint("b", Op.ABSENT)])
    )
    assert list(found) == ["a", "b"]
    assert found["a"].interval == number_interval(after(1), before(2))
    assert found["b"].absent


@given(
    st.lists(constraints(attributes=st.just("x")), min_size=1, max_size=4),
    st.lists(values(), max_size=8),
)
@settings(deadline=None)
def test_what_an_extent_says_holds_of_every_value_allowed(
    rules: list[Constraint], drawn: list[Value]
) -> None:
    found = collate(rules)
    for value in drawn + [v for c in rules if c.op in (Op.EQ, Op.IN) for v in c.choices]:
        if not all(c.holds(value) for c in rules):
            continue
        assert not found.contradictory
        assert not found.absent
        if found.points is not None:
            assert any(type(p) is type(value) or p == value for p in found.points)
            assert value in found.points
        if found.interval is not None:
            assert found.interval.holds(value)
        if isinstance(value, str):
            assert value.startswith(found.common_prefix())
            assert value.endswith(found.suffix)
            assert all(part in value for part in found.contains)


@given(st.text(max_size=4), st.text(max_size=4), st.text(max_size=6))
@settings(deadline=None)
def test_a_prefix_interval_is_the_prefix(prefix: str, shorter: str, value: str) -> None:
    for text in (value, prefix + value, prefix[:1] + value, shorter):
        assert prefixed(prefix).holds(text) is text.startswith(prefix)
