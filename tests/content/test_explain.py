"""Explanations agree with matching, and say why in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.explain import explain, render
from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.value import Value
from tests.content.strategies import messages_near, predicates

REASONS: list[tuple[str, Value, str]] = [
    ("price < 120", 130, "price is 130, which is not < 120"),
    ("price = 120", 1.5, "price is 1.5, which is not = 120"),
    ("price != 120", 120.0, "price is 120.0, which equals 120"),
    ("price < 120", "abc", 'price is the string "abc", a number was expected'),
    ('price < "a"', True, "price is the boolean true, a string was expected"),
    ("price = true", 1, "price is the number 1, a boolean was expected"),
    ("price < 120", math.nan, "price is nan, which is neither below nor above anything"),
    ("price in (1, 2)", 3, "price is 3, which is not in (1, 2)"),
    ('price in (1, "a")', True, "price is the boolean true, a number or string was expected"),
    ('price in (1, "a")', "b", 'price is "b", which is not in (1, "a")'),
    ('price prefix "ab"', "xab", 'price is "xab", which does not begin with "ab"'),
    ('price suffix "ab"', "abx", 'price is "abx", which does not end with "ab"'),
    ('price contains "ab"', "xy", 'price is "xy", which does not contain "ab"'),
    ('price not prefix "ab"', "abx", 'price is "abx", which begins with "ab"'),
    ('price not suffix "ab"', "xab", 'price is "xab", which ends with "ab"'),
    ('price not contains "ab"', "xabx", 'price is "xabx", which contains "ab"'),
    ('price prefix "ab"', 5, "price is the number 5, a string was expected"),
    ("not exists price", 130, "price is there: it is 130"),
]


@pytest.mark.parametrize(("text", "value", "why"), REASONS)
def test_a_failure_is_explained_in_words(text: str, value: Value, why: str) -> None:
    (verdict,) = explain(parse(text), Message({"price": value})).verdicts
    assert [failure.why for failure in verdict.failures] == [why]


def test_a_missing_attribute_is_said_to_be_missing() -> None:
    (verdict,) = explain(parse("volume > 5 and exists `odd name`"), Message({})).verdicts
    assert [f.why for f in verdict.failures] == ["`odd name` is missing", "volume is missing"]


def test_the_text_lists_every_filter_and_every_failure() -> None:
    predicate = parse('price < 120 and exists volume or symbol = "IBM"')
    assert render(explain(predicate, Message({"price": 130, "symbol": "IBM"}))) == "\n".join(
        [
            "match",
            "  no   price < 120 and exists volume",
            "         price < 120: price is 130, which is not < 120",
            "         exists volume: volume is missing",
            '  yes  symbol = "IBM"',
        ]
    )
    assert render(explain(predicate, Message({}))).startswith("no match\n")
    assert render(explain(parse("false"), Message({}))) == "no match: false matches nothing"
    assert render(explain(parse("true"), Message({}))) == "match\n  yes  true"


@settings(deadline=None)
@given(st.data(), predicates())
def test_an_explanation_agrees_with_matching(data: st.DataObject, predicate: Predicate) -> None:
    message = data.draw(messages_near(predicate))
    explanation = explain(predicate, message)
    assert explanation.matched is predicate.matches(message)
    for verdict in explanation.verdicts:
        assert verdict.matched is verdict.filter.matches(message)
        failing = [c for c in verdict.filter.constraints if not c.matches(message)]
        assert [failure.constraint for failure in verdict.failures] == failing
    assert all(line.isprintable() for line in render(explanation).split("\n"))
