"""One subscription as an application sees it: messages with their fates, and what is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Final, TypeAlias

import msgspec

from penstock.content.filter import Predicate
from penstock.content.value import Value
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant
from penstock.live.ordering import Late, ordering_of
from penstock.live.pump import Pump
from penstock.live.stream import Stream
from penstock.trace.fates import RECEIVED, ReceiverFate
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Receipt
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.base import OverlayFrame

NodePump: TypeAlias = Pump[Endpoint[OverlayFrame]]

# Messages that an application may leave lying, and numbers that it was not told about yet.
QUEUE_MAX: Final = 4_096


class Received(msgspec.Struct, frozen=True, gc=False):
    """A message that the application gets; `number` is the `seq` of its publisher's `epoch`."""

    attributes: Mapping[str, Value]
    payload: bytes
    publisher: int
    epoch: int
    number: int
    fate: ReceiverFate
    # How long it was held back for those before it.
    waited_ns: Duration


class Subscription:
    """Made by `Node.subscribe`; lasts from `async with` to its end.

    Iterate over it for messages. When it has ended, those that are queued still come.
    """

    def __init__(
        self,
        predicate: Predicate,
        ordering: OrderingSettings,
        queue_max: int,
        *,
        pump: NodePump,
        begun: dict[int, Subscription],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._predicate: Final = predicate
        self._ordering = ordering
        self._queue_max: Final = queue_max
        self._pump: Final = pump
        # Those of the node that have begun, by the endpoint's numbers.
        self._begun: Final = begun
        self._ready: Final = ready
        self._number: int | None = None
        self._messages: Final[Stream[Received]] = Stream(queue_max)
        self._missing: Stream[Absence] | None = None
        self._counts: Final[dict[str, int]] = dict.fromkeys(
            [*(fate.value for fate in ReceiverFate), "missing"], 0
        )

    @property
    def ordering(self) -> OrderingSettings:
        """What it is set to."""
        return self._ordering

    @property
    def counters(self) -> Mapping[str, int]:
        """Messages by fate, numbers found missing, and what overfull queues dropped."""
        dropped = 0 if self._missing is None else self._missing.overflow
        return {**self._counts, "overflow": self._messages.overflow, "missing_overflow": dropped}

    @property
    def missing(self) -> Stream[Absence]:
        """From the first look on, the whole life of every number that was missing, as it ends.

        Its `resolution` is among `trace.fates.RECEIVED` if the message came after all.
        """
        if self._missing is None:
            self._missing = Stream(self._queue_max)
            if self._messages.is_closed:
                self._missing.close()
        return self._missing

    def adjust(
        self,
        *,
        order: bool | None = None,
        max_delay: float | None = None,
        violation_probability: float | None = None,
        late: Late | None = None,
    ) -> None:
        """Changes what is given, from now on."""
        number = self._number
        if number not in self._begun:
            raise UsageError("adjust a subscription inside its 'async with'")
        ordering = ordering_of(
            self._ordering,
            order=order,
            max_delay=max_delay,
            violation_probability=violation_probability,
            late=late,
        )
        self._pump.call(lambda endpoint, now: endpoint.adjust(number, ordering, now=now))
        self._ordering = ordering

    def __aiter__(self) -> Stream[Received]:
        return self._messages

    async def __aenter__(self) -> Subscription:
        if self._number is not None:
            raise UsageError("a subscription begins once: subscribe again")
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
        """Takes what is still held, and nothing after it; ending twice is no error."""
        number = self._number
        if number in self._begun:
            if not self._pump.is_closed:
                self._pump.call(lambda endpoint, now: endpoint.unsubscribe(number, now=now))
            self._begun.pop(number, None)
        self._messages.close(error)
        if self._missing is not None:
            self._missing.close(error)

    def take(self, fact: Receipt | Absence) -> None:
        """What the endpoint hands over; the pump cannot wait, so what finds no room is dropped."""
        if type(fact) is Absence:
            self._counts["missing"] += 1
            if fact.resolution is ReceiverFate.GIVEN_UP:
                self._counts["given_up"] += 1
            if self._missing is not None:
                self._missing.put(fact)
            return
        assert type(fact) is Receipt
        self._counts[fact.fate] += 1
        if fact.fate in RECEIVED:
            frame = fact.frame
            self._messages.put(
                Received(
                    attributes=frame.message.attributes,
                    payload=frame.message.payload,
                    publisher=frame.pub,
                    epoch=frame.epoch,
                    number=frame.seq,
                    fate=fact.fate,
                    waited_ns=fact.ended_ns - fact.arrived_ns,
                )
            )

    def _begin(self, endpoint: Endpoint[OverlayFrame], now: Instant) -> None:
        number = endpoint.subscribe(self._predicate, ordering=self._ordering, now=now)
        # Before anything can be handed over.
        self._number = number
        self._begun[number] = self
