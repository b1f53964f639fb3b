"""A subscription to streams, as a program sees it: messages in order, each to be acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic_ns
from typing import Final

from penstock.api.durable_info import Lag
from penstock.api.feed import Feed
from penstock.api.filter import Filter
from penstock.api.loss import Loss
from penstock.api.opening import Opening
from penstock.api.stream_message import StreamMessage
from penstock.api.stream_statistics import DurableStatistics
from penstock.api.units import Duration, count, duration_ns
from penstock.kernel.errors import UsageError
from penstock.live.guaranteed.client_link import ClientLink
from penstock.live.guaranteed.durables import find_durable
from penstock.live.guaranteed.reading import Reading
from penstock.live.guaranteed.subscription_terms import SubscriptionTerms

# Readers that are further behind read from the log, not along with others.
_LIVE_S: Final = 1.0


def open_subscription(
    link: ClientLink,
    terms: SubscriptionTerms,
    *,
    before: Callable[[], Awaitable[None]] | None = None,
) -> Opening[StreamSubscription]:
    """Opens by `await` or by a block, whose normal end acknowledges what is in hand.

    `before` is what has to be done first, such as to create the stream.
    """

    async def open_() -> StreamSubscription:
        if before is not None:
            await before()
        reading = Reading(link, terms)
        await reading.opened()
        return StreamSubscription(link, terms, reading)

    async def close(subscription: StreamSubscription, error: BaseException | None) -> None:
        if error is None:
            await subscription.aclose()
        else:
            subscription._reading.abandon()

    return Opening("subscribe()", open_, close)


class StreamSubscription(AsyncIterator[StreamMessage]):
    """Messages in order; with `ack="next"`, asking for the next acknowledges the one before."""

    def __init__(self, link: ClientLink, terms: SubscriptionTerms, reading: Reading) -> None:
        self._link: Final = link
        self._terms: Final = terms
        self._reading: Final = reading
        self._lag: Lag | None = None
        self._parked: int | None = None

    @property
    def filter(self) -> Filter:
        """What it reads."""
        return self._terms.filter

    @property
    def resumed(self) -> bool:
        """Whether the durable name was known: then `start` was not used."""
        return self._reading.resumed

    @property
    def losses(self) -> Feed[Loss]:
        """Gaps, with `on_gap="continue"`."""
        return self._reading.losses.feed

    def __aiter__(self) -> StreamSubscription:
        return self

    async def __anext__(self) -> StreamMessage:
        reading = self._reading
        reading.acks.next_is_asked_for()
        while (message := reading.take_message()) is None:
            if not await reading.inbox.wait():
                raise StopAsyncIteration
            await self._take_other()
        return message

    async def receive(self, limit: int = 100, *, wait: Duration = 0.0) -> list[StreamMessage]:
        """What is there, at most `limit` messages; waits so long for the first; may be empty."""
        count("limit", limit)
        reading = self._reading
        reading.acks.next_is_asked_for()
        items = reading.inbox.items
        taken: list[StreamMessage] = []
        wait_ns = duration_ns("wait", wait)
        until_ns = monotonic_ns() + wait_ns
        while len(taken) < limit:
            if not items:
                # A gap alone is nothing for the program: it waits on for the rest of the time.
                left_ns = max(0, until_ns - monotonic_ns()) if wait_ns else 0
                if taken or not await reading.inbox.wait_for(left_ns):
                    break
                continue
            message = reading.take_message()
            if message is not None:
                taken.append(message)
            elif taken:
                # Nothing may be awaited while something is in hand: a cancel would lose it.
                break
            else:
                await self._take_other()
        return taken

    def with_losses(self) -> AsyncIterator[StreamMessage | Loss]:
        """Iterates over messages and gaps: a `Loss` stands in its place, and nothing is raised."""
        return _WithLosses(self._reading)

    async def lag(self) -> Lag:
        """How far the durable name is behind the end of its streams."""
        if self._terms.durable is None:
            raise UsageError("a subscription without a name has no lag: pass durable=NAME")
        info = await find_durable(self._link, self._terms.durable)
        self._lag, self._parked = info.lag, info.parked
        return info.lag

    def statistics(self) -> DurableStatistics:
        """What has happened so far; nobody is asked."""
        reading, lag = self._reading, self._lag
        seconds = None if lag is None else lag.seconds
        return DurableStatistics(
            delivered=reading.delivered,
            redelivered=reading.redelivered,
            acknowledged=reading.acks.acknowledged,
            queued=len(reading.inbox.items),
            lost=reading.lost,
            parked=self._parked,
            lag_messages=None if lag is None else lag.messages,
            lag_seconds=seconds,
            is_recovering=None if seconds is None else seconds > _LIVE_S,
        )

    async def aclose(self) -> None:
        """Ends reading, and acknowledges what is in hand; closing twice is no error.

        What is queued can still be read. It is not acknowledged: a durable name gets it again.
        """
        await self._reading.finish()

    async def _take_other(self) -> None:
        """Deals with what comes before the next message, if there is anything."""
        if self._reading.inbox.items:
            loss = await self._reading.take_other(raises_gaps=self._terms.raises_gaps)
            if loss is not None:
                self._reading.losses.put(loss)


class _WithLosses(AsyncIterator[StreamMessage | Loss]):
    """Messages and gaps of one subscription, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading: Final = reading

    def __aiter__(self) -> _WithLosses:
        return self

    async def __anext__(self) -> StreamMessage | Loss:
        reading = self._reading
        reading.acks.next_is_asked_for()
        while (message := reading.take_message()) is None:
            if not await reading.inbox.wait():
                raise StopAsyncIteration
            if reading.inbox.items:
                loss = await reading.take_other(raises_gaps=False)
                if loss is not None:
                    return loss
        return message
