"""One subscription as an application sees it: messages with their fates, and missing messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, TypeAlias

import msgspec

from penstock.content.filter import Predicate
from penstock.content.value import Value
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant
from penstock.live.net.pump import Pump
from penstock.live.node.delivery_queue import DeliveryQueue
from penstock.live.node.subscription_options import Late, ordering_of
from penstock.trace.fates import RECEIVED, ReceiverFate
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, Loss, Unseen
from penstock.transport.order.latch import Latch
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.base import OverlayFrame

NodePump: TypeAlias = Pump[Endpoint[OverlayFrame]]

# The default bound of each queue: messages, losses and absences.
QUEUE_MAX: Final = 4_096


class Received(msgspec.Struct, frozen=True, gc=False):
    """A delivered message; `number` is its `seq` in its publisher's `epoch`."""

    attributes: Mapping[str, Value]
    payload: bytes
    publisher: int
    epoch: int
    number: int
    fate: ReceiverFate
    # Time in the reorder buffer, waiting for earlier messages.
    waited_ns: Duration


class Subscription:
    """Created by `Node.subscribe`; active from `async with` to its end.

    Iterate over it for messages. After the end, the iterator still returns the queued ones.
    """

    def __init__(
        self,
        predicate: Predicate,
        ordering: OrderingSettings,
        queue_max: int,
        *,
        previous_latch: Latch | None,
        weight: float,
        pump: NodePump,
        active: dict[int, Subscription],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._predicate: Final = predicate
        self._ordering = ordering
        # The latch to restore when ordering is turned on again.
        self._previous_latch = ordering.latch or previous_latch
        self._weight: Final = weight
        self._queue_max: Final = queue_max
        self._pump: Final = pump
        # Active subscriptions of the node by the endpoint's ids.
        self._active: Final = active
        self._ready: Final = ready
        self._is_entered = False
        self._subscription_id: int | None = None
        self._messages: Final[DeliveryQueue[Received]] = DeliveryQueue(queue_max)
        self._losses: DeliveryQueue[Loss] | None = None
        self._missing: DeliveryQueue[Absence] | None = None
        self._unseen: DeliveryQueue[Unseen] | None = None
        self._counts: Final[dict[str, int]] = dict.fromkeys(
            [*(fate.value for fate in ReceiverFate), "lost", "retracted", "missing", "unseen"], 0
        )

    @property
    def ordering(self) -> OrderingSettings:
        """The current ordering settings."""
        return self._ordering

    @property
    def counters(self) -> Mapping[str, int]:
        """Messages by fate, messages lost and missing, and items that full queues dropped."""
        return {
            **self._counts,
            "overflow": self._messages.overflow,
            "losses_overflow": 0 if self._losses is None else self._losses.overflow,
            "missing_overflow": 0 if self._missing is None else self._missing.overflow,
            "unseen_overflow": 0 if self._unseen is None else self._unseen.overflow,
        }

    @property
    def losses(self) -> DeliveryQueue[Loss]:
        """Every message that is declared lost, at once; starts with the first access.

        A lost message that arrives after all is reported again, with `is_retracted`. A repaired one
        is not, because it was lost.
        """
        if self._losses is None:
            self._losses = self._new_queue()
        return self._losses

    @property
    def missing(self) -> DeliveryQueue[Absence]:
        """The history of every missing message, when it is resolved; starts with the first access.

        A message that never arrives is resolved some seconds after it was declared lost.
        """
        if self._missing is None:
            self._missing = self._new_queue()
        return self._missing

    @property
    def unseen(self) -> DeliveryQueue[Unseen]:
        """Losses of which only the count and the publisher are known; starts with the first access.

        They occur where a publisher numbers a tracked flow (`RecoverySettings.tracks`) and gaps in
        its numbers could not be filled. A later arrival does not retract them.
        """
        if self._unseen is None:
            self._unseen = self._new_queue()
        return self._unseen

    def adjust(
        self,
        *,
        order: bool | None = None,
        max_delay: float | None = None,
        violation_probability: float | None = None,
        late: Late | None = None,
    ) -> None:
        """Changes the given options from now on."""
        subscription_id = self._subscription_id
        if subscription_id not in self._active:
            raise UsageError("adjust a subscription inside its 'async with'")
        ordering = ordering_of(
            self._ordering,
            order=order,
            max_delay=max_delay,
            violation_probability=violation_probability,
            late=late,
            previous_latch=self._previous_latch,
        )
        self._pump.call(
            lambda endpoint, now: endpoint.reconfigure(subscription_id, ordering, now=now)
        )
        self._ordering = ordering
        self._previous_latch = ordering.latch or self._previous_latch

    def __aiter__(self) -> DeliveryQueue[Received]:
        if self._subscription_id is None:
            # Without `async with` no SUB was sent, so the loop would wait for ever.
            raise UsageError(
                "this subscription has not begun: write"
                " 'async with node.subscribe(…) as messages:' around the loop"
            )
        return self._messages

    async def __aenter__(self) -> Subscription:
        if self._is_entered:
            raise UsageError("a subscription begins once: subscribe again")
        self._is_entered = True
        await self._ready()
        self._pump.call(self._begin)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def end(self, error: BaseException | None = None) -> None:
        """Ends the subscription and its queues; ending twice is no error."""
        subscription_id = self._subscription_id
        if subscription_id in self._active:
            if not self._pump.is_closed:
                self._pump.call(
                    lambda endpoint, now: endpoint.unsubscribe(subscription_id, now=now)
                )
            self._active.pop(subscription_id, None)
        for queue in (self._messages, self._losses, self._missing, self._unseen):
            if queue is not None:
                queue.close(error)

    # The pump cannot wait: items that do not fit a queue are dropped and counted.

    def take(self, fact: Delivery | Absence | Unseen) -> None:
        """Queues a fact of the endpoint."""
        if type(fact) is Absence:
            self._on_absence(fact)
        elif type(fact) is Unseen:
            self._counts["unseen"] += fact.messages
            if self._unseen is not None:
                self._unseen.put(fact)
        else:
            assert type(fact) is Delivery
            self._on_delivery(fact)

    def take_loss(self, loss: Loss) -> None:
        """Queues a loss, which the endpoint reports when it is declared."""
        self._counts["retracted" if loss.is_retracted else "lost"] += 1
        if self._losses is not None:
            self._losses.put(loss)

    def _on_absence(self, absence: Absence) -> None:
        self._counts["missing"] += 1
        if absence.is_lost:
            self._counts[ReceiverFate.GIVEN_UP] += 1
        if self._missing is not None:
            self._missing.put(absence)

    def _on_delivery(self, delivery: Delivery) -> None:
        frame, fate = delivery.frame, delivery.fate
        if fate in RECEIVED and not self._messages.put(
            Received(
                attributes=frame.message.attributes,
                payload=frame.message.payload,
                publisher=frame.pub,
                epoch=frame.epoch,
                number=frame.seq,
                fate=fate,
                waited_ns=delivery.resolved_ns - delivery.arrived_ns,
            )
        ):
            # The application never gets the message, so it counts as overflow only.
            return
        self._counts[fate] += 1

    def _new_queue(self) -> DeliveryQueue[Any]:
        """A new queue, already closed if the subscription has ended."""
        queue: DeliveryQueue[Any] = DeliveryQueue(self._queue_max)
        if self._messages.is_closed:
            queue.close()
        return queue

    def _begin(self, endpoint: Endpoint[OverlayFrame], now: Instant) -> None:
        subscription_id = endpoint.subscribe(
            self._predicate, ordering=self._ordering, weight=self._weight, now=now
        )
        # Set before any message can be delivered.
        self._subscription_id = subscription_id
        self._active[subscription_id] = self
