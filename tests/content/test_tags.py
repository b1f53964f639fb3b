"""Tags, fingerprints and schemas: nothing that matches is ever encoded away."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.bloom import BloomParams, subset
from penstock.content.constraint import PRESENCE, TEXTUAL, Constraint, Op
from penstock.content.covering import covers
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.schema import LENGTHS, Encoding, Schema
from penstock.content.tags import (
    Encoder,
    filter_tags,
    is_exactly_encodable,
    message_tags,
    presence_tag,
    value_tags,
)
from penstock.content.value import Value
from penstock.kernel.seeds import Seeds
from tests.content.strategies import filters, finite_numbers, messages, messages_near, values

SALT = b"a network's salt"

AWKWARD: tuple[float, ...] = (
    *(0, -0.0, 0.1, 0.3, 1, 7, 8, -1, 100.5, 5e-324, -5e-324, 2.2e-308),
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
    *(2.0**63, 1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
GRIDS = st.builds(
    Encoding,
    origin=st.sampled_from(AWKWARD).map(float),
    width=st.sampled_from((0.1, 0.25, 1.0, 10.0, 5e-324, 1e-300, 1e300, 2.0**53)),
    levels=st.integers(1, 9),
    prefixes=st.sampled_from([(), (1,), (2, 1), LENGTHS]),
    suffixes=st.sampled_from([(), (1,), (3, 2), LENGTHS]),
)
SCHEMAS = st.builds(Schema, st.dictionaries(st.sampled_from("abc"), GRIDS))
SMALL_SCHEMA = Schema(
    {
        "x": Encoding(origin=0.5, width=0.5, levels=4, prefixes=(1, 2), suffixes=(1, 2)),
        "y": Encoding(width=1.0, levels=2, prefixes=(1,)),
    }
)


def c(op: Op, operand: object = None, name: str = "x") -> Constraint:
    return Constraint(name, op, operand)  # type: ignore[arg-type]


def small_filter(rng: random.Random) -> Filter:
    rules = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        op = rng.choice(list(Op))
        operand: object = None
        if op in TEXTUAL:
            operand = rng.choice(("a", "b", "ab", "ba", "abb"))
        elif op is Op.IN:
            operand = rng.sample((1, 1.5, 2, "a", "ab", "abb", True), rng.randrange(1, 4))
        elif op not in PRESENCE:
            operand = rng.choice((0.5, 1, 1.5, 2, 3, "a", "ab", "b"))
        rules.append(c(op, operand, rng.choice("xxy")))
    return Filter(rules)


def small_messages() -> list[Message]:
    some: tuple[Value, ...] = (0.5, 1, 1.2, 1.5, 2, 3, 9, math.inf, math.nan, True)
    some += ("", "a", "ab", "abb", "b", "ba", "cab")
    both = [Message({"x": x, "y": y}) for x, y in itertools.product(some, some[::2])]
    return both + [Message({"x": x}) for x in some] + [Message({})]


@given(filters(), SCHEMAS, st.data())
@settings(max_examples=250, deadline=None)
def test_what_matches_has_the_filters_tags_and_bits(
    interest: Filter, schema: Schema, data: st.DataObject
) -> None:
    encoder = Encoder(SALT, schema, params=BloomParams(248, 5))
    for message in (data.draw(messages_near(interest)), data.draw(messages())):
        if interest.matches(message):
            assert set(filter_tags(interest, schema)) <= set(message_tags(message, schema))
            assert subset(encoder.filter_bits(interest), encoder.message_bits(message))


@given(GRIDS, st.lists(st.sampled_from(AWKWARD) | finite_numbers(), min_size=2), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_cell_that_holds_both_ends_holds_all_between(
    grid: Encoding, numbers: list[float], closed: bool
) -> None:
    low, *between, high = sorted(numbers)
    schema = Schema({"x": grid})
    interest = Filter([c(Op.GE, low), c(Op.LE if closed else Op.LT, high)])
    said = set(filter_tags(interest, schema))
    for number in (low, *between, high, math.nextafter(high, -math.inf)):
        message = Message({"x": number})
        if interest.matches(message):
            assert said <= set(message_tags(message, schema))


def test_an_integer_that_rounds_up_to_an_open_end_is_not_missed() -> None:
    """2**54 - 1 has no float of its own: as a float it is the end of the range."""
    schema = Schema({"x": Encoding(width=2.0**53)})
    interest = Filter([c(Op.GE, 2**53), c(Op.LT, 2**54)])
    message = Message({"x": 2**54 - 1})
    assert interest.matches(message)
    assert set(filter_tags(interest, schema)) <= set(message_tags(message, schema))
    assert not is_exactly_encodable(interest, schema)


@given(GRIDS, st.sampled_from(AWKWARD) | finite_numbers(), st.sampled_from(AWKWARD), st.data())
@settings(deadline=None)
def test_cells_never_decrease(
    grid: Encoding, one: float, other: float, data: st.DataObject
) -> None:
    low, high = sorted((one, other))
    level = data.draw(st.integers(0, grid.levels - 1))
    below, above = grid.cell(low, level), grid.cell(high, level)
    assert below is None or above is None or below <= above


@pytest.mark.spec("3.1")
def test_matching_and_covering_are_kept_by_tags() -> None:
    """Both implications, each over ten thousand true cases and more."""
    rng = Seeds(7).rng("tags")
    pool = list(dict.fromkeys(small_filter(rng) for _ in range(800)))
    said = {one: set(filter_tags(one, SMALL_SCHEMA)) for one in pool}
    matches = coverings = 0
    for message in small_messages():
        shown = set(message_tags(message, SMALL_SCHEMA))
        for one in pool:
            if one.matches(message):
                assert said[one] <= shown
                matches += 1
    for wide, narrow in itertools.product(pool, pool):
        if wide != narrow and covers(wide, narrow):
            assert said[wide] <= said[narrow], (wide, narrow)
            coverings += 1
    assert matches > 10_000
    assert coverings > 10_000


@given(filters(max_constraints=3), filters(max_constraints=3), SCHEMAS, st.data())
@settings(max_examples=200, deadline=None)
def test_covering_is_kept_by_tags_of_awkward_values(
    one: Filter, other: Filter, schema: Schema, data: st.DataObject
) -> None:
    part = data.draw(st.lists(st.sampled_from(one.constraints)) if one.constraints else st.just([]))
    for wide, narrow in ((one, other), (other, one), (Filter(part), one)):
        if covers(wide, narrow):
            assert set(filter_tags(wide, schema)) <= set(filter_tags(narrow, schema))


def test_what_a_filter_says() -> None:
    grid = Encoding(width=10.0, levels=3, prefixes=(1, 2, 4), suffixes=(2,))
    schema = Schema({"x": grid})

    def said(*rules: Constraint) -> list[bytes]:
        return filter_tags(Filter(rules), schema)

    here = [presence_tag("x")]
    assert said(c(Op.EXISTS)) == said(c(Op.NE, 1)) == said(c(Op.CONTAINS, "a")) == here
    assert said(c(Op.ABSENT)) == []
    assert said(c(Op.EQ, 12)) == here + value_tags("x", 12, grid)
    assert said(c(Op.IN, [12, 17])) == [*here, b"#\x01x0:1", b"#\x01x1:0", b"#\x01x2:0"]
    assert said(c(Op.IN, [12, "a"])) == here
    assert said(c(Op.GE, 10), c(Op.LT, 20)) == said(c(Op.IN, [12, 17]))
    assert said(c(Op.GE, 10), c(Op.LE, 20)) == [*here, b"#\x01x2:0"]
    assert said(c(Op.GE, 10)) == said(c(Op.LT, 20)) == here
    assert said(c(Op.PREFIX, "abc")) == [*here, b"<\x01xa", b"<\x01xab"]
    assert said(c(Op.GE, "abc"), c(Op.LT, "abd")) == said(c(Op.PREFIX, "abc"))
    assert said(c(Op.SUFFIX, "abc")) == [*here, b">\x01xbc"]
    assert said(c(Op.EQ, 1), c(Op.EQ, 2)) == here


def test_equal_values_share_their_tags_and_others_do_not() -> None:
    same: list[tuple[Value, Value]] = [
        (1, 1.0),
        (0.0, -0.0),
        (2**53, 2.0**53),
        (math.nan, -math.nan),
    ]
    for one, other in same:
        assert value_tags("x", one) == value_tags("x", other)
    different: list[Value] = [1, True, "1", "true", 0, False, "", 2**53 + 1, 2.0**63, math.inf]
    assert len({tuple(value_tags("x", value)) for value in different}) == len(different)
    assert value_tags("ab", "c") != value_tags("a", "bc")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "a"])
def test_what_is_no_finite_number_lies_in_no_cell(value: Value) -> None:
    assert len(value_tags("x", value, Encoding(width=1.0))) == 1


EXACT: list[list[Constraint]] = [
    [],
    [c(Op.EQ, 5)],
    [c(Op.EQ, "a"), c(Op.NE, 3)],
    [c(Op.IN, [5])],
    [c(Op.EXISTS)],
    [c(Op.GE, 5), c(Op.LE, 5)],
    [c(Op.PREFIX, "ab")],
    [c(Op.GE, "ab"), c(Op.LT, "ac")],
    [c(Op.SUFFIX, "b")],
    [c(Op.PREFIX, "a"), c(Op.SUFFIX, "ab")],
    [c(Op.GE, 0.5), c(Op.LT, 1.0)],
    [c(Op.GE, 4.5), c(Op.LT, 8.5)],
    [c(Op.EXISTS), c(Op.EQ, 1, "y"), c(Op.EQ, True, "z")],
]
INEXACT: list[list[Constraint]] = [
    [c(Op.ABSENT)],
    [c(Op.NE, 1)],
    [c(Op.IN, [1, 2])],
    [c(Op.LT, 1)],
    [c(Op.GE, 0.5), c(Op.LE, 1.0)],
    [c(Op.GT, 0.5), c(Op.LT, 1.0)],
    [c(Op.GE, 0.5), c(Op.LT, 1.5), c(Op.NE, 1)],
    [c(Op.GE, 0.75), c(Op.LT, 1.25)],
    [c(Op.GE, 0.5), c(Op.LT, 2.0)],
    [c(Op.GE, "a")],
    [c(Op.PREFIX, "abc")],
    [c(Op.SUFFIX, "abc")],
    [c(Op.CONTAINS, "a")],
    [c(Op.NOT_PREFIX, "a")],
    [c(Op.PREFIX, "a", "z")],
    [c(Op.EQ, 1), c(Op.LT, 9, "y")],
    [c(Op.EQ, 1), c(Op.EQ, 2)],
]


@pytest.mark.spec("F17")
def test_which_filters_are_exactly_encodable() -> None:
    assert all(is_exactly_encodable(Filter(rules), SMALL_SCHEMA) for rules in EXACT)
    assert not any(is_exactly_encodable(Filter(rules), SMALL_SCHEMA) for rules in INEXACT)
    ranged = Filter([c(Op.GE, 0.5), c(Op.LT, 1.0)])
    assert not is_exactly_encodable(ranged, Schema())


@pytest.mark.spec("F17")
def test_what_has_the_tags_of_an_exact_filter_matches_it() -> None:
    rng = Seeds(8).rng("exact")
    pool = dict.fromkeys(
        [Filter(rules) for rules in EXACT] + [small_filter(rng) for _ in range(1_500)]
    )
    exact = [one for one in pool if is_exactly_encodable(one, SMALL_SCHEMA)]
    assert len(exact) > 50
    for message in small_messages():
        shown = set(message_tags(message, SMALL_SCHEMA))
        for one in exact:
            assert one.matches(message) is set(filter_tags(one, SMALL_SCHEMA)).issubset(shown)


@pytest.mark.spec("F17")
@given(GRIDS, st.integers(-40, 40), st.integers(0, 8), st.lists(values(), max_size=8))
@settings(max_examples=300, deadline=None)
def test_a_range_said_to_be_aligned_is_one_cell(
    grid: Encoding, index: int, level: int, drawn: list[Value]
) -> None:
    assert grid.width is not None
    low, high = (grid.origin + i * grid.width * 2**level for i in (index, index + 1))
    if not (math.isfinite(low) and math.isfinite(high)):
        return
    interest, schema = Filter([c(Op.GE, low), c(Op.LT, high)]), Schema({"x": grid})
    if is_exactly_encodable(interest, schema):
        said = set(filter_tags(interest, schema))
        near = [math.nextafter(end, way) for end in (low, high) for way in (-math.inf, math.inf)]
        for value in (low, high, *near, *drawn):
            message = Message({"x": value})
            assert interest.matches(message) is (said <= set(message_tags(message, schema)))


@pytest.mark.spec("F17")
@pytest.mark.parametrize("origin", [0.0, 5.0, 0.3])
@pytest.mark.parametrize("width", [0.1, 0.25, 1.0, 7.0, 2.0**-40])
def test_every_whole_cell_is_aligned(width: float, origin: float) -> None:
    """Ends are as floats compute them, so that no quotient can round across one."""
    schema = Schema({"x": Encoding(origin=origin, width=width)})
    for level, index in itertools.product(range(6), (-50, -3, -1, 0, 1, 7, 100)):
        low, high = (origin + i * width * 2**level for i in (index, index + 1))
        assert is_exactly_encodable(Filter([c(Op.GE, low), c(Op.LT, high)]), schema)
