"""Many filters at once: which of them does a message match?"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from penstock.api.filter import Filter, Matchable, content_message, predicate_of

if TYPE_CHECKING:
    from penstock.content.index import MatchingIndex

K = TypeVar("K", bound=Hashable)


class FilterIndex(Generic[K]):
    """Filters by key; `match` finds those that a message matches, without trying each."""

    def __init__(self) -> None:
        # It loads numpy, which most programs do without.
        from penstock.content.index import MatchingIndex

        self._index: Final[MatchingIndex[K]] = MatchingIndex()

    def add(self, key: K, filter: str | Filter) -> None:
        """Adds a filter; a known key gets the new one."""
        self._index.add(key, predicate_of(filter))

    def remove(self, key: K) -> None:
        """Removes a filter; raises KeyError for an unknown key."""
        self._index.remove(key)

    def match(self, message: Matchable) -> list[K]:
        """The keys of all filters that the message matches, each once."""
        return self._index.match(content_message(message))

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: K) -> bool:
        return key in self._index
