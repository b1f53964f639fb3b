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
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.transport.facts import Absence, Loss, Receipt
from penstock.transport.interest import Glimpse, Interest
from penstock.transport.missing import Missing
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data


class Wish:
    """One predicate, and all subscriptions that have it."""

    __slots__ = ("_encoder", "_interests", "number", "predicate", "subscriptions")

    def __init__(self, number: int, predicate: Predicate, encoder: Encoder) -> None:
        # What the network below knows it by.
        self.number: Final = number
        self.predicate: Final = predicate
        self.subscriptions: Final[dict[int, Subscription]] = {}
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
    ) -> None:
        self.number: Final = number
        self.wish: Final = wish
        # Of all subscriptions of the endpoint together.
        self.timers: Final = timers
        self.timers_max: Final = timers_max
        self.put_out: Final = put_out
        self._on_loss: Final = on_loss
        self._counters: Final = counters
        self.ordering: OrderingSettings
        self.reveal: Callable[[Data, int], list[Glimpse]]
        self.order_by(ordering)

    def order_by(self, ordering: OrderingSettings) -> None:
        """From now on."""
        self.ordering = ordering
        self.reveal = self.wish.interest(ordering.bloom).reveal

    def tell_loss(self, loss: Loss, now: Instant) -> None:
        """To whoever recovers or slows down."""
        self._on_loss(loss, now)

    def count(self, event: str) -> None:
        """One more of these."""
        self._counters[event] += 1
