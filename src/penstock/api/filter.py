"""The public `Filter`: text with values, over the predicates of `content`.

Decides nothing itself: matching, covering and explanations are those of `content`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from penstock.api.message import Message
from penstock.api.units import quoted
from penstock.content import covering
from penstock.content.explain import explain, render
from penstock.content.filter import Predicate
from penstock.content.message import Message as ContentMessage
from penstock.content.syntax import (
    FilterSyntaxError,
    format_name,
    format_predicate,
    from_json,
    parse,
    to_json,
)
from penstock.content.syntax.normal import to_predicate
from penstock.content.syntax.tree import Conjunction, Disjunction, Leaf, Negation, Node
from penstock.content.value import Value, is_finite
from penstock.kernel.errors import UsageError

Matchable: TypeAlias = Message | Mapping[str, Value]


class Filter:
    """What a subscriber wants: `Filter("symbol = ? and price < ?", symbol, 120)`.

    Each `?` takes a value, which so needs no quotes. Filters are immutable and hashable; the same
    tests in any order give equal filters, and `str()` is the canonical text. `&`, `|` and `~` are
    `and`, `or` and `not`: as in a text, a message without a price matches neither `price < 10` nor
    its negation.
    """

    __slots__ = ("_predicate",)

    _predicate: Predicate

    def __init__(self, text: str, *values: Value) -> None:
        self._predicate = parse(text, values)

    def matches(self, message: Matchable) -> bool:
        """Whether the message, or a message with these attributes, is wanted."""
        return self._predicate.matches(content_message(message))

    def covers(self, other: str | Filter) -> bool:
        """Whether all that `other` matches is known to match; False: not proved."""
        return covering.covers(self._predicate, predicate_of(other))

    def overlaps(self, other: str | Filter) -> bool:
        """Whether a message could match both; True: not excluded."""
        return covering.overlaps(self._predicate, predicate_of(other))

    def explain(self, message: Matchable) -> str:
        """Why the message matches or not, in lines of text."""
        return render(explain(self._predicate, content_message(message)))

    def to_json(self) -> dict[str, object]:
        """The form for programs: dictionaries and lists."""
        return to_json(self._predicate)

    @classmethod
    def from_json(cls, document: object) -> Filter:
        """The filter of such a form; errors begin with the path to the mistake."""
        return _filter_of(from_json(document))

    def __and__(self, other: str | Filter) -> Filter:
        return _combined(Conjunction((_tree(self), _tree(as_filter(other))), 0))

    def __or__(self, other: str | Filter) -> Filter:
        return _combined(Disjunction((_tree(self), _tree(as_filter(other))), 0))

    def __invert__(self) -> Filter:
        return _combined(Negation(_tree(self), 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self._predicate == other._predicate

    def __hash__(self) -> int:
        return hash(self._predicate)

    def __str__(self) -> str:
        return format_predicate(self._predicate)

    def __repr__(self) -> str:
        return f"Filter({str(self)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Predicate]]:
        return _filter_of, (self._predicate,)


def as_filter(given: str | Filter) -> Filter:
    """Wherever a filter is taken, so is its text."""
    if isinstance(given, Filter):
        return given
    if isinstance(given, str):
        return Filter(given)
    raise UsageError(
        f"a filter cannot be {quoted(given)}: write text such as 'price < 120', or a Filter"
    )


def predicate_of(given: str | Filter) -> Predicate:
    """What the rooms below take for a filter."""
    return as_filter(given)._predicate


def content_message(message: Matchable) -> ContentMessage:
    """What the rooms below take for a message; refuses values that none can have."""
    if isinstance(message, Message):
        return ContentMessage.trusted(message.attributes)
    checked = ContentMessage(message)
    for name, value in checked.attributes.items():
        if not is_finite(value):
            raise UsageError(
                f"attribute {format_name(name)} cannot be {value}: leave it out, or give a number"
            )
    return checked


def _filter_of(predicate: Predicate) -> Filter:
    made = object.__new__(Filter)
    made._predicate = predicate
    return made


def _tree(given: Filter) -> Node:
    return Disjunction(
        tuple(
            Conjunction(tuple(Leaf(constraint, 0) for constraint in part.constraints), 0)
            for part in given._predicate.filters
        ),
        0,
    )


def _combined(tree: Node) -> Filter:
    try:
        return _filter_of(to_predicate(tree, ""))
    except FilterSyntaxError as error:
        # There is no text to point at.
        raise UsageError(error.reason) from None
