"""The JSON form by example."""

from __future__ import annotations

import pytest

from penstock.content.syntax import from_json, parse, to_json
from penstock.kernel.errors import UsageError


def test_the_json_form_is_any_of_all_of_triples() -> None:
    predicate = parse('price < 120 and symbol in ("ARM", "AMD") or not exists volume')
    document = {
        "any": [
            {"all": [["price", "<", 120], ["symbol", "in", ["AMD", "ARM"]]]},
            {"all": [["volume", "not exists"]]},
        ]
    }
    assert to_json(predicate) == document
    assert from_json(document) == predicate


def test_one_filter_may_stand_alone() -> None:
    assert from_json({"all": [["price", "<", 120.0]]}) == parse("price < 120")
    assert from_json({"all": []}) == parse("true")
    assert from_json({"any": []}) == parse("false")


OBJECT = "expected an object with the one member"
MISTAKES: list[tuple[object, str]] = [
    (5, f"{OBJECT} 'any': write "),
    ({}, f"{OBJECT} 'any': write "),
    ({"any": [], "none": []}, f"{OBJECT} 'any': write "),
    ({"any": {}}, "'any' must be an array, not an object"),
    ({"all": None}, "'all' must be an array, not null"),
    ({"any": [[]]}, f"any[0]: {OBJECT} 'all': write "),
    ({"any": [{"all": []}, {"all": "x"}]}, "any[1]: 'all' must be an array, not 'x'"),
    ({"any": [{"all": ["x"]}]}, 'any[0].all[0]: expected ["name", "operator", value]'),
    ({"all": [["a", "exists"], ["a", "~", 1]]}, "all[1]: unknown operator '~': it is one of "),
    ({"all": [["a", ["="], 1]]}, "all[0]: unknown operator ['=']"),
    ({"all": [["a", "exists", 1]]}, "all[0]: 'exists' takes no value"),
    ({"all": [["a", "<"]]}, "all[0]: '<' takes a value"),
    ({"all": [["a", "=", None]]}, "all[0]: a value is a number, string or boolean, not null"),
    ({"all": [["a", "in", 5]]}, "all[0]: 'in' takes an array of values, not 5"),
    ({"all": [["a", "in", [[]]]]}, "all[0]: a value is a number, string or boolean, not an array"),
    ({"all": [["a", "<", True]]}, "all[0]: booleans have no order"),
    ({"all": [["a", "<", 2**64]]}, "all[0]: integers must fit 64 bits"),
    ({"all": [[7, "<", 2]]}, "all[0]: an attribute's name must be a string, not int"),
    ({"all": [["a", "!=", n] for n in range(33)]}, "all: a filter has at most 32 constraints"),
    (
        {"any": [{"all": [["a", "=", n]]} for n in range(65)]},
        "any: a predicate has at most 64 filters",
    ),
]


@pytest.mark.parametrize(("document", "message"), MISTAKES)
def test_a_mistake_is_named_by_its_path(document: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_json(document)
    assert str(caught.value).startswith(message)
