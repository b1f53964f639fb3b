"""The text and JSON forms of filters, for people and programs.

    parse('symbol = "IBM" and price < 120 or volume >= 1e6')

Negation is pushed to the constraints and `and` is distributed over `or`, so the result is a
`Predicate`; `format_predicate` writes it back in one canonical way. Knows nothing of where a text
comes from.
"""

from collections.abc import Sequence

from penstock.content.filter import Predicate
from penstock.content.limits import TEXT_CHARS_MAX
from penstock.content.syntax.errors import FilterSyntaxError
from penstock.content.syntax.json_form import from_json, to_json
from penstock.content.syntax.normal import to_predicate
from penstock.content.syntax.parser import Parser
from penstock.content.syntax.writer import (
    format_constraint,
    format_filter,
    format_name,
    format_predicate,
    format_value,
)
from penstock.content.value import Value
from penstock.kernel.errors import UsageError

__all__ = [
    "FilterSyntaxError",
    "format_constraint",
    "format_filter",
    "format_name",
    "format_predicate",
    "format_value",
    "from_json",
    "parse",
    "to_json",
]


def parse(text: str, values: Sequence[Value] = ()) -> Predicate:
    """The predicate that `text` describes; raises `FilterSyntaxError`.

    Each `?` in the text stands for the next of `values`, which so need no quotes.
    """
    if not isinstance(text, str):
        raise UsageError(f"a filter's text must be a string, not {type(text).__name__}")
    if len(text) > TEXT_CHARS_MAX:
        raise FilterSyntaxError(
            f"a filter's text has at most {TEXT_CHARS_MAX} characters, not {len(text)}",
            text[: TEXT_CHARS_MAX + 1],
            TEXT_CHARS_MAX,
        )
    return to_predicate(Parser(text, values).tree(), text)
