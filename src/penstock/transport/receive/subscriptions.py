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
from penstock.transport.facts import Absence, Loss, Receipt
from penstock.transport.order.missing import Missing
from penstock.transport.record.matcher import Glimpse, Interest
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data


class Wish:
    """One predicate, and all subscriptions and offers that have it."""

    __slots__ = ("_encoder", "_interests", "number", "offers", "predicate", "subscriptions")

    def __init__(self, number: int, predicate: Predicate, encoder: Encoder) -> None:
        # What the network below knows it by.
        self.number: Final = number
        self.predicate: Final = predicate
        self.subscriptions: Final[dict[int, Subscription]] = {}
        # Offers to keep it for others: nobody here gets it by these.
        self.offers: Final[set[int]] = set()
        self._encoder: Final = encoder
        self._interests: Final[dict[BloomParams | None, Interest]] = {}

    def interest(self, bloom: BloomParams | None) -> Interest:
        """The test of records by fingerprints, or by Bloom sets of a size."""
        found = self._interests.get(bloom)
        if found is None:
            found = self._interests[bloom] = Interest(self.predicate, self._encoder, bloom)
        return found


class Subscription:
    """What its streams need of the endpoint, and nothing else of it."""

    __slots__ = (
        "_counters",
        "_on_loss",
        "_repairs_within_ns",
        "number",
        "ordering",
        "put_out",
        "reveal",
        "timers",
        "timers_max",
        "wish",
    )

    def __init__(
        self,
        number: int,
        wish: Wish,
        ordering: OrderingSettings,
        *,
        timers: Timers[Missing],
        timers_max: int,
        put_out: Callable[[Receipt | Absence], None],
        on_loss: Callable[[Loss, Instant], None],
        counters: dict[str, int],
        repairs_within_ns: Duration | None = None,
    ) -> None:
        self.number: Final = number
        self.wish: Final = wish
        # Of all subscriptions of the endpoint together.
        self.timers: Final = timers
        self.timers_max: Final = timers_max
        self.put_out: Final = put_out
        self._on_loss: Final = on_loss
        self._counters: Final = counters
        # How long others may take to repair a loss; None where nobody is asked.
        self._repairs_within_ns: Final = repairs_within_ns
        self.ordering: OrderingSettings
        self.reveal: Callable[[Data, int], list[Glimpse]]
        self.order_by(ordering)

    def order_by(self, ordering: OrderingSettings) -> None:
        """From now on."""
        self.ordering = ordering
        self.reveal = self.wish.interest(ordering.bloom).reveal

    @property
    def remember_ns(self) -> Duration:
        """How long a lost number may still come."""
        return max(self.ordering.remember_ns, self._repairs_within_ns or 0)

    @property
    def hold_for_repair_ns(self) -> Duration:
        """How long what comes after a lost message waits for its repair."""
        return 0 if self._repairs_within_ns is None else self.ordering.hold_for_repair_ns

    def tell_loss(self, loss: Loss, now: Instant) -> None:
        """To whoever recovers or slows down."""
        self._on_loss(loss, now)

    def count(self, event: str) -> None:
        """One more of these."""
        self._counters[event] += 1
