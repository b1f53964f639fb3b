"""Which of a few flows a message is in: quicker than an index that is made for many.

Most filters ask for one value of some attribute. A message's value leads to those that
ask for it, and only these are tested; the others always are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from penstock.content.constraint import CHOOSING, Constraint, Op
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.value import Key

if TYPE_CHECKING:
    from penstock.transport.congestion.sender.flow import ControlledFlow

# An attribute, what its value must pass, and what it is compared with.
_Test: TypeAlias = tuple[str, Callable[[Any, Any], bool], Any]
_Candidate: TypeAlias = "tuple[ControlledFlow, tuple[_Test, ...]]"

_is_absent: Final = Constraint("any", Op.ABSENT).test
_by_id: Final = attrgetter("id")


class FewFlows:
    """Found by a message; those whose filters are not known never are."""

    __slots__ = ("_by_value", "_others")

    def __init__(self, flows: Sequence[ControlledFlow]) -> None:
        # Each flow with what is left to test: to be found by a value is to have it.
        self._by_value: Final[dict[str, dict[Key, list[_Candidate]]]] = {}
        self._others: Final[list[_Candidate]] = []
        for flow in flows:
            if flow.filter is not None:
                self._add(flow, flow.filter)

    def _add(self, flow: ControlledFlow, filter_: Filter) -> None:
        """Under the value that the fewest others wait under."""
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
        bucket.append((flow, _tests([c for c in filter_.constraints if c is not found_by])))

    def match(self, message: Message) -> list[ControlledFlow]:
        """The flows that it is in, in the order of their numbers."""
        key_of = message.keys.get
        candidates = [*self._others]
        for attribute, by_key in self._by_value.items():
            key = key_of(attribute)
            if key is not None:
                candidates += by_key.get(key, ())
        get = message.attributes.get
        matched = []
        for flow, tests in candidates:
            for name, test, operand in tests:
                value = get(name)
                if value is None:
                    if test is not _is_absent:
                        break
                elif not test(value, operand):
                    break
            else:
                matched.append(flow)
        if len(matched) > 1:
            matched.sort(key=_by_id)
        return matched


def _tests(constraints: Sequence[Constraint]) -> tuple[_Test, ...]:
    return tuple([(c.attribute, c.test, c.operand) for c in constraints])
