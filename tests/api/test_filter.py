"""The public filter says what `content` says, and takes values without quotes."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.errors import FilterSyntaxError
from penstock.api.filter import Filter, as_filter, predicate_of
from penstock.api.message import Fate, Message, MessageId
from penstock.content import covering
from penstock.content.constraint import Constraint, Op
from penstock.content.explain import explain, render
from penstock.content.filter import Filter as Conjunct
from penstock.content.filter import Predicate
from penstock.content.message import Message as ContentMessage
from penstock.content.syntax import format_predicate, parse, to_json
from penstock.content.value import Value, is_finite
from penstock.kernel.errors import UsageError
from tests.content.strategies import finite_values, messages_near, predicates

few = predicates(max_filters=2, max_constraints=2)
# Each example draws whole predicates, which takes longer than what is tested.
briefly = settings(max_examples=20)


def of(predicate: Predicate) -> Filter:
    return Filter(format_predicate(predicate))


def without_nan(message: ContentMessage) -> dict[str, Value]:
    return {name: value for name, value in message.attributes.items() if is_finite(value)}


def handed_over(attributes: dict[str, Value]) -> Message:
    id_ = MessageId("0" * 16, 0, 0)
    return Message(
        attributes=attributes,
        payload=b"",
        id=id_,
        fate=Fate.DELIVERED,
        published_ns=0,
        received_ns=0,
    )


@briefly
@given(few, st.data())
def test_it_judges_messages_as_content_does(predicate: Predicate, data: st.DataObject) -> None:
    attributes = without_nan(data.draw(messages_near(predicate)))
    message = ContentMessage(attributes)
    filter_ = of(predicate)
    assert filter_.matches(attributes) is predicate.matches(message)
    assert filter_.matches(handed_over(attributes)) is predicate.matches(message)
    assert filter_.explain(attributes) == render(explain(predicate, message))


@briefly
@given(few, few, st.data())
def test_operators_mean_the_words_of_a_text(
    left: Predicate, right: Predicate, data: st.DataObject
) -> None:
    one, other = of(left), of(right)
    attributes = without_nan(data.draw(messages_near(left) | messages_near(right)))
    pairs = [
        (one & other, f"({one}) and ({other})"),
        (one | other, f"({one}) or ({other})"),
        (~one, f"not ({one})"),
        (~~one, str(one)),
        (~(one | other), f"not ({one}) and not ({other})"),
    ]
    for combined, text in pairs:
        assert combined.matches(attributes) is Filter(text).matches(attributes)


@briefly
@given(few, few)
def test_relations_are_those_of_content(left: Predicate, right: Predicate) -> None:
    one, other = of(left), of(right)
    assert one.covers(other) is covering.covers(left, right)
    assert one.overlaps(str(other)) is covering.overlaps(left, right)


@briefly
@given(few)
def test_a_filter_survives_its_text_its_json_and_copying(predicate: Predicate) -> None:
    filter_ = of(predicate)
    assert predicate_of(filter_) == predicate
    assert str(filter_) == format_predicate(predicate)
    for other in (
        Filter(str(filter_)),
        Filter.from_json(filter_.to_json()),
        pickle.loads(pickle.dumps(filter_)),
    ):
        assert (other, hash(other)) == (filter_, hash(filter_))
    assert filter_.to_json() == to_json(predicate)


@given(finite_values(), finite_values())
def test_values_need_no_quotes(one: Value, other: Value) -> None:
    given_ = Filter("a = ? or a in (?, ?)", one, one, other)
    constraints = [Constraint("a", Op.EQ, one), Constraint("a", Op.IN, (one, other))]
    assert predicate_of(given_) == Predicate([Conjunct([c]) for c in constraints])


def test_a_value_is_never_read_as_text() -> None:
    evil = '" or true or "'
    assert str(Filter("name = ?", evil)) == r'name = "\" or true or \""'
    assert Filter('name = "?" and price < ?', 3) == Filter('price < 3 and name = "?"')
    assert Filter("? <= price < ?", 1, 2) == Filter("1 <= price and price < 2")


@pytest.mark.parametrize(
    ("text", "values", "complaint"),
    [
        ("a = ?", (), "column 5: no value for '?': write the value itself, or give one for each"),
        ("a = ? or b = ?", (1,), "column 14: only 1 given for this '?': give one value for each"),
        ("a = ?", (1, 2), "column 6: 2 values for 1 '?': give one for each '?'"),
        ("a = 1", (1,), "column 6: 1 values for 0 '?'"),
        ("? = 1", (1,), "column 5: expected an attribute's name after '='"),
        ("a prefix ?", (1,), "column 10: 'prefix' takes a string, not 1"),
        ("a = ?", (math.nan,), "column 5: a filter cannot name nan"),
        ("a = ?", (None,), "column 5: a value must be an integer, float, boolean or string"),
        ("?", (True,), "column 2: expected a comparison after '?'"),
    ],
)
def test_a_mistake_with_values_has_its_place(
    text: str, values: tuple[Any, ...], complaint: str
) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        Filter(text, *values)
    assert str(caught.value).startswith(complaint)
    assert "^" in caught.value.picture()


def test_without_the_attribute_neither_side_of_a_negation_matches() -> None:
    cheap = Filter("price < 10")
    assert str(~cheap) == "price >= 10"
    assert not cheap.matches({})
    assert not (~cheap).matches({})


def test_text_stands_for_a_filter_wherever_one_is_taken() -> None:
    cheap = Filter("price < 10")
    assert cheap & "exists price" == Filter("exists price and price < 10")
    assert cheap | "false" == cheap
    assert cheap.covers("price < 5")
    assert as_filter("price < 10") == as_filter(cheap) == cheap
    with pytest.raises(UsageError, match="a filter cannot be 7: write text such as"):
        as_filter(7)  # type: ignore[arg-type]


def test_a_combination_that_grows_too_large_is_refused_in_one_line() -> None:
    nine = [Filter(" or ".join(f"{name} = {n}" for n in range(9))) for name in "ab"]
    with pytest.raises(UsageError, match=r"^this becomes more than 64 filters") as caught:
        assert nine[0] & nine[1]
    assert not isinstance(caught.value, FilterSyntaxError)


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        ({"price": math.nan}, "attribute price cannot be nan: leave it out"),
        ({"odd name": math.inf}, "attribute `odd name` cannot be inf"),
        ({"price": None}, "a value must be an integer"),
        ({"": 1}, "an attribute's name must be"),
        (7, "attributes must be a mapping"),
    ],
)
def test_what_no_message_can_have_is_refused(attributes: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Filter("true").matches(attributes)


def test_a_filter_shows_how_to_write_it() -> None:
    assert repr(Filter("b = 1 and a = 1.0")) == "Filter('a = 1 and b = 1')"
    assert parse("a = 1 and b = 1") == predicate_of("b = 1 and a = 1.0")
