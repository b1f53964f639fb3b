"""The context that the streams of one subscription share; it does not know any publisher."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import Duration, Instant
from penstock.kernel.timers import Timers
from penstock.transport.facts import Absence, Delivery, Loss
from penstock.transport.order.missing import MissingEntry
from penstock.transport.record.matcher import RecordMatch
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data

if TYPE_CHECKING:
    from penstock.transport.receive.subscriptions import SharedInterest


class StreamContext:
    """The subscription's settings and the endpoint's services, as its streams use them."""

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
        # Shared by all subscriptions of the endpoint; `timers_max` bounds their total.
        self.timers: Final = timers
        self.timers_max: Final = timers_max
        self.deliver: Final = deliver
        self._on_loss: Final = on_loss
        self._counters: Final = counters
        # How long peers may take to repair a loss; None without recovery.
        self._repair_timeout_ns: Final = repair_timeout_ns
        self.ordering: OrderingSettings
        self.match_record: Callable[[Data, int], list[RecordMatch]]
        self.set_ordering(ordering)

    def set_ordering(self, ordering: OrderingSettings) -> None:
        """Use these settings from now on."""
        self.ordering = ordering
        self.match_record = self.interest.matcher(ordering.bloom).match_record

    @property
    def remember_ns(self) -> Duration:
        """How long after its loss a message may still arrive or be repaired."""
        return max(self.ordering.remember_ns, self._repair_timeout_ns or 0)

    @property
    def hold_for_repair_ns(self) -> Duration:
        """How long later messages wait for the repair of a lost one; 0 without recovery."""
        return 0 if self._repair_timeout_ns is None else self.ordering.hold_for_repair_ns

    def report_loss(self, loss: Loss, now: Instant) -> None:
        """Report a loss or its retraction to recovery and congestion control."""
        self._on_loss(loss, now)

    def count(self, event: str) -> None:
        """Increment a counter of the endpoint."""
        self._counters[event] += 1
