"""Interests that several subscriptions share; does not know how they order messages.

Subscriptions may have the same predicate and different settings (to compare them, or
because two parts of an application need different delays). They share one interest: one
subscription of the network below, and one test of each record.
"""

from __future__ import annotations

from typing import Final

from penstock.content.bloom import BloomParams
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.transport.order.stream_context import StreamContext
from penstock.transport.record.matcher import RecordMatcher


class SharedInterest:
    """One predicate, and all subscriptions and caches that use it."""

    __slots__ = ("_encoder", "_matchers", "cache_ids", "interest_id", "predicate", "subscriptions")

    def __init__(self, interest_id: int, predicate: Predicate, encoder: Encoder) -> None:
        # The id of its subscription in the network below.
        self.interest_id: Final = interest_id
        self.predicate: Final = predicate
        self.subscriptions: Final[dict[int, StreamContext]] = {}
        # Caches that serve other endpoints; they deliver nothing to this application.
        self.cache_ids: Final[set[int]] = set()
        self._encoder: Final = encoder
        self._matchers: Final[dict[BloomParams | None, RecordMatcher]] = {}

    def matcher(self, bloom: BloomParams | None) -> RecordMatcher:
        """Return the matcher that tests records by fingerprints, or by Bloom sets of a size."""
        found = self._matchers.get(bloom)
        if found is None:
            found = self._matchers[bloom] = RecordMatcher(self.predicate, self._encoder, bloom)
        return found
