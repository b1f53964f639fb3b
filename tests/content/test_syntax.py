"""The text syntax by example: what is read, and what is said of what is not."""

from __future__ import annotations

import pickle
from time import process_time

import pytest

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import FILTERS_MAX, NESTING_MAX, TEXT_CHARS_MAX
from penstock.content.syntax import (
    FilterSyntaxError,
    format_predicate,
    format_value,
    parse,
)
from penstock.kernel.errors import UsageError

# What is written, and its canonical form.
READINGS = [
    # Operators, and the aliases people type.
    ("a = 1", "a = 1"),
    ("a == 1", "a = 1"),
    ("a <> 1", "a != 1"),
    ("a<1", "a < 1"),
    ("a>=1", "a >= 1"),
    ('a PREFIX "x"', 'a prefix "x"'),
    ('a not suffix "x"', 'a not suffix "x"'),
    ('not a contains "x"', 'a not contains "x"'),
    ('a !contains "x"', 'a not contains "x"'),
    ("exists a", "exists a"),
    ("not exists a", "not exists a"),
    ("!exists a", "not exists a"),
    ("not not exists a", "exists a"),
    ("a in (2, 1, 2.0)", "a in (1, 2)"),
    ("a in (1,)", "a in (1)"),
    ("a not in (2, 1)", "a != 1 and a != 2"),
    ("not a in (2, 1)", "a != 1 and a != 2"),
    ("not a not in (2, 1)", "a in (1, 2)"),
    # Literals on the left, and chains.
    ("120 > a", "a < 120"),
    ("120 >= a", "a <= 120"),
    ("120 < a", "a > 120"),
    ("120 <= a", "a >= 120"),
    ('"x" != a', 'a != "x"'),
    ("true = a", "a = true"),
    ("10 <= a < 20", "a < 20 and a >= 10"),
    ("not 10 <= a < 20", "a < 10 or a >= 20"),
    ("a < 5 < b", "a < 5 and b > 5"),
    # Precedence: not, and, or.
    ("a = 1 or b = 1 and c = 1", "a = 1 or b = 1 and c = 1"),
    ("(a = 1 or b = 1) and c = 1", "a = 1 and c = 1 or b = 1 and c = 1"),
    ("a = 1 && b = 1 || c = 1", "a = 1 and b = 1 or c = 1"),
    ("not a = 1 and b = 1", "a != 1 and b = 1"),
    ("not (a = 1 and b = 1)", "a != 1 or b != 1"),
    ("not (a = 1 or b = 1)", "a != 1 and b != 1"),
    ("! (a < 1 and not b > 1)", "a >= 1 or b > 1"),
    # Constants, which values of the same spelling are not.
    ("true", "true"),
    ("FALSE", "false"),
    ("not true", "false"),
    ("true or a = 1", "true or a = 1"),
    ("false or a = 1", "a = 1"),
    ("true and a = 1", "a = 1"),
    ("false and a = 1", "false"),
    ("a = true", "a = true"),
    # Distribution drops what another alternative includes.
    ("(a = 1 or b = 1) and (a = 1 or c = 1)", "a = 1 or b = 1 and c = 1"),
    ("a = 1 or a = 1 and b = 1", "a = 1 or a = 1 and b = 1"),
    # Numbers.
    ("a = 1e6", "a = 1000000"),
    ("a = -0.0", "a = 0"),
    ("a = +5", "a = 5"),
    ("a = .5", "a = 0.5"),
    ("a = 5.", "a = 5"),
    ("a = 007", "a = 7"),
    ("a=-1.5E-3", "a = -0.0015"),
    ("a = 1e22", "a = 1e+22"),
    ("a = -9223372036854775808", "a = -9223372036854775808"),
    ("a = 9007199254740993", "a = 9007199254740993"),
    # Strings.
    ("a = 'it\\'s'", 'a = "it\'s"'),
    ("a = 'say \"x\"'", r'a = "say \"x\""'),
    (r'a = "\n\t\\\u0041\U0001F600"', 'a = "\\n\\t\\\\A\U0001f600"'),
    ('a = "a # b"', 'a = "a # b"'),
    ('a = "\u202e\u00a0"', r'a = "\u202e\u00a0"'),
    ('a = "``"', 'a = "``"'),
    # Names.
    ("host.cpu-1 = 1", "host.cpu-1 = 1"),
    ("größe = 1", "größe = 1"),
    ("`größe` = 1", "größe = 1"),
    ("`odd name` = 1", "`odd name` = 1"),
    ("`a``b` = 1", "`a``b` = 1"),
    ("`a\\nb` = 1", "`a\\nb` = 1"),
    ("`and` = 1", "`and` = 1"),
    ("`In` = 1", "`In` = 1"),
    ("like = 1", "like = 1"),
    # Blanks and comments.
    ("a=1#c\nand#d\n\tb=2", "a = 1 and b = 2"),
]


@pytest.mark.parametrize(("text", "canonical"), READINGS)
def test_a_text_has_a_canonical_form(text: str, canonical: str) -> None:
    assert format_predicate(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_a_text_becomes_filters_of_constraints() -> None:
    assert parse('symbol = "IBM" and price < 120 or volume >= 1e6') == Predicate(
        [
            Filter([Constraint("symbol", Op.EQ, "IBM"), Constraint("price", Op.LT, 120)]),
            Filter([Constraint("volume", Op.GE, 1_000_000)]),
        ]
    )
    assert parse("true") == Predicate([Filter()])
    assert parse("false") == Predicate([])


# What is written, the column of the mistake, and what is said of it.
MISTAKES = [
    ("price < and x = 1", 9, "expected a value after '<', found 'and'"),
    ("price <", 8, "expected a value after '<', found the end of the text"),
    ("symbol = IBM", 10, "found 'IBM': write \"IBM\" in quotes"),
    ("symbol in (AMD)", 12, 'write "AMD" in quotes'),
    ("a = b", 5, "two attributes cannot be compared"),
    ("a = null", 5, "there is no null, write exists or not exists"),
    ("a < inf", 5, "a filter cannot name it"),
    ("flag", 5, "write flag = true, or exists flag"),
    ("flag and a = 1", 6, "write flag = true, or exists flag"),
    ("a 5", 3, "expected an operator after 'a', found '5'"),
    ("a =~ 'x'", 3, "no regular expressions, write prefix, suffix or contains"),
    ("a like 'x'", 3, "no regular expressions, write prefix, suffix or contains"),
    ("a not matches 'x'", 7, "no regular expressions"),
    ("a between 1", 3, "write 1 <= a <= 2"),
    ("a startswith 'x'", 3, "write prefix"),
    ("a is null", 3, "write =, exists a or not exists a"),
    ("a not = 5", 7, "write not a = ..."),
    ("a exists", 3, "'exists' comes first: write exists a"),
    ("a not exists", 7, "'exists' comes first: write not exists a"),
    ("exists 5", 8, "expected an attribute's name after 'exists', found '5'"),
    ("exists and a = 1", 8, "expected an attribute's name after 'exists', found 'and'"),
    ("a = 1 & b = 1", 7, "unexpected '&': write and"),
    ("a = 1 | b = 1", 7, "unexpected '|': write or"),
    ("a => 1", 3, "unexpected '=>': write >="),
    ("a === 1", 3, "unexpected '===': write ="),
    ("a : 1", 3, "unexpected ':': write ="),
    ("a = “x”", 5, 'strings take straight quotes: "text"'),
    ("a in [1]", 6, "lists are written in parentheses"),
    ("a = $", 5, "unexpected '$'"),
    ("a - 1", 3, "unexpected '-'"),
    ("a = 1 b = 2", 7, "expected 'and' or 'or', found 'b'"),
    ("a = 1, b = 2", 6, "expected 'and' or 'or', found ','"),
    ("a = 1)", 6, "expected 'and' or 'or', found ')'"),
    ("(a = 1", 7, "expected ')' for the '(' at column 1, found the end of the text"),
    ("()", 2, "expected an attribute's name, found ')'"),
    ("and", 1, "a name that is a keyword goes in backticks: `and`"),
    ("and $", 1, "expected an attribute's name, found 'and'"),
    ("a = 1 and or", 11, "expected an attribute's name, found 'or'"),
    ("", 1, "the text is empty: write true to match everything"),
    ("1 < 2", 5, "expected an attribute's name after '<', found '2'"),
    ("5 in a", 1, "the left side of 'in' must be an attribute's name"),
    ('"x"', 4, 'expected a comparison after "x", found the end of the text'),
    ("a in 5", 6, "expected '(' after 'in', found '5'"),
    ("a in ()", 3, "'in' takes 1 to 64 values, not 0"),
    ("a in (1 2)", 9, "expected ',' or ')', found '2'"),
    ("a in (,)", 7, "expected a value after 'in', found ','"),
    ("a = 'x", 5, "this string has no closing ' on its line"),
    ('a = "x\ny"', 5, 'this string has no closing " on its line'),
    ("`a = 1", 1, "this name has no closing ` on its line"),
    (r'a = "\q"', 6, r"unknown escape '\q'"),
    (r'a = "\u00"', 6, r"unknown escape '\u'"),
    (r'a = "\ud83d"', 6, r"\ud83d is no character"),
    (r'a = "\U00110000"', 6, "is no character"),
    ("120USD < a", 1, "'120USD' is no number"),
    ("a = 1_000", 5, "'1_000' is no number"),
    ("a = 0x10", 5, "'0x10' is no number"),
    ("a = 1.2.3", 5, "'1.2.3' is no number"),
    ("a = 1e999", 5, "1e999 is too large for a number"),
    ("a = 9223372036854775808", 5, "integers must fit 64 bits"),
    ("a = " + "9" * 5_000, 5, "integers must fit 64 bits"),
    # What constraints will not have, with the place.
    ("b = 1 and a < true", 15, "booleans have no order: write = or != instead of <"),
    ("true < a", 1, "booleans have no order"),
    ("a prefix 5", 10, "'prefix' takes a string, not 5"),
    ("a prefix ''", 10, "'prefix' of the empty string says nothing"),
    (f"`{'x' * 65}` = 1", 1, "an attribute's name must be 1 to 64 bytes"),
    ("`` = 1", 1, "an attribute's name must be 1 to 64 bytes"),
    (f"a = '{'x' * 1_001}'", 5, "strings must be at most 1000 bytes"),
    ("a = '\ud800'", 5, "must be valid Unicode"),
]


@pytest.mark.parametrize(("text", "column", "reason"), MISTAKES)
def test_a_mistake_is_shown_where_it_is(text: str, column: int, reason: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    error = caught.value
    assert reason in error.reason
    assert (error.line, error.column) == (1, column)
    assert "\n" not in str(error)


def test_the_line_is_named_when_there_are_several() -> None:
    with pytest.raises(FilterSyntaxError, match=r"^line 2, column 8: expected a value") as caught:
        parse("a = 1\nand b <")
    assert (caught.value.line, caught.value.column) == (2, 8)
    with pytest.raises(FilterSyntaxError, match=r"^column 4: "):
        parse("a <")


def test_the_picture_has_a_caret_below_the_mistake() -> None:
    assert _picture("a = 1\n  and b < # rest") == "  and b < # rest\n                ^"
    # Wide characters take two cells, combining ones none, tabs one.
    assert _picture("価 = 'e\u0301'\t$") == "価 = 'e\u0301' $\n         ^"
    long = " and ".join(["price = 1"] * 50)
    text, caret = _picture(f"{long} $ {long}").split("\n")
    assert text[caret.index("^")] == "$"
    assert len(text) < 80


def _picture(text: str) -> str:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    return caught.value.picture()


def test_an_error_survives_pickling() -> None:
    error = FilterSyntaxError("reason", "text", 2)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.column, copy.text) == (str(error), 3, "text")


@pytest.mark.parametrize("factor", [7, 40, 1_000])
def test_distribution_is_refused_while_it_grows(factor: int) -> None:
    bomb = " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(factor))
    # Of this process alone: others may be busy. Refused it takes milliseconds.
    started = process_time()
    with pytest.raises(FilterSyntaxError, match=f"more than {FILTERS_MAX} filters"):
        parse(bomb)
    with pytest.raises(FilterSyntaxError, match="more than"):
        parse(f"not ({bomb.replace(' and ', ' & ').replace(' or ', ' and ').replace('&', 'or')})")
    assert process_time() - started < 5


def test_limits_are_reached_and_not_passed() -> None:
    exactly = " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(6))
    assert len(parse(exactly).filters) == FILTERS_MAX
    assert len(parse(" or ".join(f"a={n}" for n in range(64))).filters) == FILTERS_MAX
    with pytest.raises(FilterSyntaxError, match="at most 64 filters, and this is one more"):
        parse(" or ".join(f"a={n}" for n in range(65)))
    assert len(parse(" and ".join(f"a!={n}" for n in range(32))).filters[0].constraints) == 32
    with pytest.raises(FilterSyntaxError, match="more than 32 constraints"):
        parse(" and ".join(f"a!={n}" for n in range(33)))
    with pytest.raises(FilterSyntaxError, match="not in counts one for each value"):
        parse(f"a not in ({', '.join(map(str, range(33)))})")
    with pytest.raises(FilterSyntaxError, match="at most 65536 characters"):
        parse("a = 1" + " " * TEXT_CHARS_MAX)


def test_nesting_is_bounded_and_negation_alone_is_no_nesting() -> None:
    deep = NESTING_MAX
    assert parse("(" * deep + "a = 1" + ")" * deep) == parse("a = 1")
    assert parse("not (" * deep + "a = 1" + ")" * deep) == parse("a = 1")
    with pytest.raises(FilterSyntaxError, match="parentheses nest at most 64 deep"):
        parse("(" * (deep + 1) + "a = 1" + ")" * (deep + 1))
    assert parse("not " * 10_001 + "a = 1") == parse("a != 1")
    # Depth is what is open at once, not what was ever opened.
    assert parse(" or ".join(["(a = 1)"] * 1_000)) == parse("a = 1")


def test_only_a_string_is_parsed() -> None:
    with pytest.raises(UsageError, match="must be a string, not int"):
        parse(5)  # type: ignore[arg-type]


def test_values_without_a_literal_have_a_name() -> None:
    assert [format_value(v) for v in (float("nan"), float("-inf"), True, 0.1)] == [
        "nan",
        "-inf",
        "true",
        "0.1",
    ]
