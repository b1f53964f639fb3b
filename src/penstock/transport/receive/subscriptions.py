"""A subscription: what it asks for, how it orders, and where what it gets goes.

Several subscriptions may ask for the same in different ways (to compare them, or
because two parts of an application want different delays). They share a `Wish`:
one subscription of the network below, one test of each record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.timers import Timers
from penstock.transport.facts import Absence, Delivery, Loss
from penstock.transport.order.missing import MissingEntry
from penstock.transport.record.matcher import RecordMatch, RecordMatcher
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data


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


class StreamContext:
    """What its streams need of the endpoint, and nothing else of it."""

    __slots__ = (
        "_counters",
        "_on_loss",
        "_repair_timeout_ns",
        "deliver",
        "interest",
        "match_record",
        "ordering",
        "subscription_id",
        "timers",
        "timers_max",
    )

    def __init__(
        self,
        subscription_id: int,
        interest: SharedInterest,
        ordering: OrderingSettings,
        *,
        timers: Timers[MissingEntry],
        timers_max: int,
        deliver: Callable[[Delivery | Absence], None],
        on_loss: Callable[[Loss, Instant], None],
        counters: dict[str, int],
        repair_timeout_ns: Duration | None = None,
    ) -> None:
        self.subscription_id: Final = subscription_id
        self.interest: Final = interest
        # Of all subscriptions of the endpoint together.
        self.timers: Final = timers
        self.timers_max: Final = timers_max
        self.deliver: Final = deliver
        self._on_loss: Final = on_loss
        self._counters: Final = counters
        # How long others may take to repair a loss; None where nobody is asked.
        self._repair_timeout_ns: Final = repair_timeout_ns
        self.ordering: OrderingSettings
        self.match_record: Callable[[Data, int], list[RecordMatch]]
        self.set_ordering(ordering)

    def set_ordering(self, ordering: OrderingSettings) -> None:
        """From now on."""
        self.ordering = ordering
        self.match_record = self.interest.matcher(ordering.bloom).match_record

    @property
    def remember_ns(self) -> Duration:
        """How long a lost number may still come."""
        return max(self.ordering.remember_ns, self._repair_timeout_ns or 0)

    @property
    def hold_for_repair_ns(self) -> Duration:
        """How long what comes after a lost message waits for its repair."""
        return 0 if self._repair_timeout_ns is None else self.ordering.hold_for_repair_ns

    def report_loss(self, loss: Loss, now: Instant) -> None:
        """To whoever recovers or slows down."""
        self._on_loss(loss, now)

    def count(self, event: str) -> None:
        """One more of these."""
        self._counters[event] += 1
