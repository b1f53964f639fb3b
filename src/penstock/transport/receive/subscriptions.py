"""What subscriptions ask for; knows nothing of how they order what they get.

Several subscriptions may ask for the same in different ways (to compare them, or
because two parts of an application want different delays). They share an interest:
one subscription of the network below, one test of each record.
"""

from __future__ import annotations

from typing import Final

from penstock.content.bloom import BloomParams
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.transport.order.stream_context import StreamContext
from penstock.transport.record.matcher import RecordMatcher


class SharedInterest:
    """One predicate, and all subscriptions and offers that have it."""

    __slots__ = ("_encoder", "_matchers", "cache_ids", "interest_id", "predicate", "subscriptions")

    def __init__(self, interest_id: int, predicate: Predicate, encoder: Encoder) -> None:
        # What the network below knows it by.
        self.interest_id: Final = interest_id
        self.predicate: Final = predicate
        self.subscriptions: Final[dict[int, StreamContext]] = {}
        # Offers to keep it for others: nobody here gets it by these.
        self.cache_ids: Final[set[int]] = set()
        self._encoder: Final = encoder
        self._matchers: Final[dict[BloomParams | None, RecordMatcher]] = {}

    def matcher(self, bloom: BloomParams | None) -> RecordMatcher:
        """The test of records by fingerprints, or by Bloom sets of a size."""
        found = self._matchers.get(bloom)
        if found is None:
            found = self._matchers[bloom] = RecordMatcher(self.predicate, self._encoder, bloom)
        return found
