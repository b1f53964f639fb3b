"""The naive twin of the index: every filter is tried on every message.

The oracle of the tests and the baseline of the benchmark.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from penstock.content.filter import Predicate
from penstock.content.message import Message

Id = TypeVar("Id", bound=Hashable)


class NaiveIndex(Generic[Id]):
    """Same results as `MatchingIndex`, slowly."""

    def __init__(self) -> None:
        self._predicates: dict[Id, Predicate] = {}

    def __len__(self) -> int:
        return len(self._predicates)

    def add(self, id_: Id, predicate: Predicate) -> None:
        """Adds a predicate; a known id gets the new one."""
        self._predicates[id_] = predicate

    def remove(self, id_: Id) -> None:
        """Removes a predicate; raises KeyError for an unknown id."""
        del self._predicates[id_]

    def match(self, message: Message) -> list[Id]:
        """The ids of all predicates that the message matches."""
        return [id_ for id_, predicate in self._predicates.items() if predicate.matches(message)]
