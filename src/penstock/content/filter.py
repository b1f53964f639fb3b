"""Filters and predicates: the interests of a subscriber.

A filter is a conjunction of constraints, a predicate a disjunction of filters. Both are canonical:
sorted and without repetition, so that equal texts, whatever their order, give equal objects. The
empty filter accepts every message; the predicate without filters accepts none.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.content.constraint import ABSENT, Constraint
from penstock.content.limits import CONSTRAINTS_MAX, FILTERS_MAX
from penstock.content.message import Message
from penstock.kernel.errors import UsageError


class Filter:
    """A conjunction of constraints."""

    __slots__ = ("_hash", "constraints")

    constraints: tuple[Constraint, ...]

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self.constraints = tuple(sorted(set(constraints)))
        if len(self.constraints) > CONSTRAINTS_MAX:
            raise UsageError(
                f"a filter has at most {CONSTRAINTS_MAX} constraints, not {len(self.constraints)}"
            )
        self._hash = hash(self.constraints)

    def matches(self, message: Message) -> bool:
        """Whether every constraint holds."""
        # `Constraint.matches` inlined in a plain loop: the index is compared with this naive twin.
        attributes = message.attributes
        for constraint in self.constraints:
            value = attributes.get(constraint.attribute)
            if value is None:
                if constraint.op is not ABSENT:
                    return False
            elif not constraint.test(value, constraint.operand):
                return False
        return True

    def by_attribute(self) -> dict[str, list[Constraint]]:
        """The constraints grouped by attribute."""
        groups: dict[str, list[Constraint]] = {}
        for constraint in self.constraints:
            groups.setdefault(constraint.attribute, []).append(constraint)
        return groups

    def __lt__(self, other: Filter) -> bool:
        return self.constraints < other.constraints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.constraints == other.constraints

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Filter({self.constraints!r})"

    def __reduce__(self) -> tuple[type[Filter], tuple[tuple[Constraint, ...]]]:
        return Filter, (self.constraints,)


class Predicate:
    """A disjunction of filters."""

    __slots__ = ("filters",)

    filters: tuple[Filter, ...]

    def __init__(self, filters: Iterable[Filter]) -> None:
        self.filters = tuple(sorted(set(filters)))
        if len(self.filters) > FILTERS_MAX:
            raise UsageError(
                f"a predicate has at most {FILTERS_MAX} filters, not {len(self.filters)}:"
                " subscribe to the parts separately"
            )

    def matches(self, message: Message) -> bool:
        """Whether any filter holds."""
        for f in self.filters:
            if f.matches(message):
                return True
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and self.filters == other.filters

    def __hash__(self) -> int:
        return hash(self.filters)

    def __repr__(self) -> str:
        return f"Predicate({self.filters!r})"

    def __reduce__(self) -> tuple[type[Predicate], tuple[tuple[Filter, ...]]]:
        return Predicate, (self.filters,)
