"""The text and JSON forms by property: round trips, meaning, and nonsense."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.constraint import ORDERED, TEXTUAL, Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.syntax import (
    FilterSyntaxError,
    format_constraint,
    format_predicate,
    from_json,
    parse,
    to_json,
)
from penstock.content.value import Value
from penstock.kernel.errors import UsageError
from tests.content.strategies import constraints, messages_near, predicates

# Other work on the machine must not fail a test.
patient = settings(deadline=None)


@patient
@given(predicates())
def test_a_predicate_survives_its_text(predicate: Predicate) -> None:
    text = format_predicate(predicate)
    assert parse(text) == predicate
    assert format_predicate(parse(text)) == text
    assert text.isprintable()


@patient
@given(predicates())
def test_a_predicate_survives_its_json(predicate: Predicate) -> None:
    assert from_json(to_json(predicate)) == predicate
    assert from_json(json.loads(json.dumps(to_json(predicate)))) == predicate


# Expressions as people write them, with their own evaluation in three values:
# true, false, and None where a constraint has nothing to say.


@dataclass(frozen=True)
class Junction:
    word: str
    parts: tuple[Expression, ...]


Expression: TypeAlias = "Constraint | Junction"


def expressions() -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.one_of(
        constraints(attributes=st.sampled_from("ab")),
        st.sampled_from([Junction("and", ()), Junction("or", ())]),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda part: Junction("not", (part,)), inner),
            st.builds(
                Junction,
                st.sampled_from(["and", "or"]),
                st.lists(inner, min_size=2, max_size=3).map(tuple),
            ),
        ),
        max_leaves=8,
    )


def written(expression: Expression) -> str:
    if isinstance(expression, Constraint):
        return format_constraint(expression)
    if expression.word == "not":
        return f"not ({written(expression.parts[0])})"
    if not expression.parts:
        return "true" if expression.word == "and" else "false"
    return f" {expression.word} ".join(f"({written(part)})" for part in expression.parts)


def truth(expression: Expression, message: Message) -> bool | None:
    if isinstance(expression, Constraint):
        return constraint_truth(expression, message.attributes.get(expression.attribute))
    parts = [truth(part, message) for part in expression.parts]
    if expression.word == "not":
        return None if parts[0] is None else not parts[0]
    decisive = expression.word == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def constraint_truth(constraint: Constraint, value: Value | None) -> bool | None:
    op = constraint.op
    if op in (Op.EXISTS, Op.ABSENT):
        return (value is None) is (op is Op.ABSENT)
    if value is None or not comparable(op, value, constraint.operand):
        return None
    return constraint.holds(value)


def comparable(op: Op, value: Value, operand: object) -> bool:
    if op in TEXTUAL:
        return isinstance(value, str)
    if op not in ORDERED:
        return True
    if isinstance(value, bool) or (isinstance(value, float) and math.isnan(value)):
        return False
    return isinstance(value, str) == isinstance(operand, str)


@patient
@given(st.data(), expressions())
def test_negation_means_what_three_valued_logic_says(
    data: st.DataObject, expression: Expression
) -> None:
    leaves = Filter(leaves_of(expression))
    message = data.draw(messages_near(leaves))
    expected = truth(expression, message)
    assert parse(written(expression)).matches(message) is (expected is True)
    assert parse(f"not ({written(expression)})").matches(message) is (expected is False)


def leaves_of(expression: Expression) -> list[Constraint]:
    if isinstance(expression, Constraint):
        return [expression]
    return [leaf for part in expression.parts for leaf in leaves_of(part)]


@pytest.mark.parametrize(
    ("attributes", "matches", "negation_matches"),
    [
        ({"price": 100}, True, False),
        ({"price": 130}, False, True),
        ({}, False, False),
        ({"price": "100"}, False, False),
        ({"price": True}, False, False),
        ({"price": math.nan}, False, False),
    ],
)
def test_neither_a_comparison_nor_its_negation_holds_of_what_has_no_order(
    attributes: dict[str, Value], matches: bool, negation_matches: bool
) -> None:
    message = Message(attributes)
    assert parse("price < 120").matches(message) is matches
    assert parse("not price < 120").matches(message) is negation_matches


# Nonsense.

PIECES = [
    *("and", "or", "not", "in", "prefix", "suffix", "contains", "exists", "true", "false"),
    *("&&", "||", "!", "=", "==", "!=", "<>", "<", "<=", ">", ">=", "=~", "&", "|"),
    *("(", ")", ",", '"', "'", "`", "\\", "#", "\n", " ", ".", "-", "+"),
    *("a", "price", "`odd`", '"x"', "'y'", "1", "-2.5", "1e999", "9" * 30, r'"\u00e9"', "é", "$"),
]


def refused_well_or_read(text: str) -> None:
    try:
        predicate = parse(text)
    except FilterSyntaxError as error:
        check_refusal(error, text.split("\n"))
    else:
        assert parse(format_predicate(predicate)) == predicate


def check_refusal(refusal: FilterSyntaxError, lines: list[str]) -> None:
    assert 1 <= refusal.line <= len(lines)
    assert 1 <= refusal.column <= len(lines[refusal.line - 1]) + 1
    assert str(refusal).isprintable()
    assert len(refusal.picture().split("\n")) == 2


@patient
@given(st.lists(st.sampled_from(PIECES), max_size=20), st.sampled_from(["", " "]))
def test_any_row_of_tokens_is_read_or_refused_well(pieces: list[str], between: str) -> None:
    refused_well_or_read(between.join(pieces))


@patient
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_well(text: str) -> None:
    refused_well_or_read(text)


@patient
@given(st.data(), expressions())
def test_a_damaged_text_is_read_or_refused_well(
    data: st.DataObject, expression: Expression
) -> None:
    text = written(expression)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 4)))
        text = text[:start] + data.draw(st.sampled_from(["", *PIECES])) + text[stop:]
    refused_well_or_read(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["any", "all", "x"]), inner, max_size=2)
        | st.tuples(st.just("a"), st.sampled_from([op.value for op in Op]), inner).map(list)
    ),
    max_leaves=10,
)


@patient
@given(JSON)
def test_any_json_is_read_or_refused(document: object) -> None:
    for form in (document, {"any": [document]}, {"any": [{"all": [document]}]}):
        try:
            predicate = from_json(form)
        except UsageError:
            continue
        assert from_json(to_json(predicate)) == predicate
