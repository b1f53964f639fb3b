"""An index over a few filters, faster than the one that is made for many.

Most filters require one value of some attribute. A message's value leads to the filters that
require it, and only these are tested; the others are always tested. Immutable: build a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

from penstock.content.constraint import CHOOSING, Constraint, Op
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.value import Key

Item = TypeVar("Item")

# An attribute, a test of its value, and the operand.
_Test: TypeAlias = tuple[str, Callable[[Any, Any], bool], Any]
_Candidate: TypeAlias = tuple[Item, tuple[_Test, ...]]

_is_absent: Final = Constraint("any", Op.ABSENT).test


class SmallIndex(Generic[Item]):
    """Finds the items whose filters a message matches."""

    __slots__ = ("_by_value", "_others")

    def __init__(self, items: Iterable[tuple[Item, Filter]]) -> None:
        # Each item with its remaining tests: an item found by a value has passed that one.
        self._by_value: Final[dict[str, dict[Key, list[_Candidate[Item]]]]] = {}
        self._others: Final[list[_Candidate[Item]]] = []
        for item, filter_ in items:
            self._add(item, filter_)

    def _add(self, item: Item, filter_: Filter) -> None:
        """Stores it under the value that the fewest other filters require."""
        found_by, fewest = None, 0
        for constraint in filter_.constraints:
            if constraint.op in CHOOSING and len(constraint.choice_keys) == 1:
                by_key = self._by_value.get(constraint.attribute, {})
                others = len(by_key.get(constraint.choice_keys[0], ()))
                if found_by is None or others < fewest:
                    found_by, fewest = constraint, others
        bucket = self._others
        if found_by is not None:
            by_key = self._by_value.setdefault(found_by.attribute, {})
            bucket = by_key.setdefault(found_by.choice_keys[0], [])
        bucket.append((item, _tests([c for c in filter_.constraints if c is not found_by])))

    def match(self, message: Message) -> list[Item]:
        """The items whose filters the message matches, in no particular order."""
        key_of = message.keys.get
        candidates = [*self._others]
        for attribute, by_key in self._by_value.items():
            key = key_of(attribute)
            if key is not None:
                candidates += by_key.get(key, ())
        get = message.attributes.get
        matched = []
        for item, tests in candidates:
            for name, test, operand in tests:
                value = get(name)
                if value is None:
                    if test is not _is_absent:
                        break
                elif not test(value, operand):
                    break
            else:
                matched.append(item)
        return matched


def _tests(constraints: Sequence[Constraint]) -> tuple[_Test, ...]:
    return tuple([(c.attribute, c.test, c.operand) for c in constraints])
