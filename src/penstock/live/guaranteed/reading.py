"""How a subscription reads: from the frames of the broker to the messages of the program.

Its inbox has what has come, its acknowledgements what the program has dealt with.
"""

from __future__ import annotations

import asyncio
import logging
from time import time_ns
from typing import Final

from penstock.api.errors import ClosedError, PoisonError
from penstock.api.feed import FeedSource
from penstock.api.lazy_attributes import LazyAttributes
from penstock.api.loss import Loss
from penstock.api.message import Fate, MessageId
from penstock.api.position import Position
from penstock.api.stream_message import StreamMessage
from penstock.guaranteed.client import AckStored, Missed, Moved, Opened, Poisonous, Received
from penstock.live.guaranteed.acknowledgements import Acknowledgements
from penstock.live.guaranteed.client_link import ClientLink
from penstock.live.guaranteed.gaps import gap_error, loss_of
from penstock.live.guaranteed.inbox import Inbox
from penstock.live.guaranteed.read_positions import ReadPositions
from penstock.live.guaranteed.refusal_errors import durable_error, refused_error
from penstock.live.guaranteed.stream_names import StreamNames
from penstock.live.guaranteed.subscription_terms import SubscriptionTerms
from penstock.wire.codec.guaranteed.body import read_attributes_of, read_payload_of
from penstock.wire.frames.guaranteed.client import Refused
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.subscription import Position as WirePosition

_log: Final = logging.getLogger("penstock.streams")
# To have the last acknowledgements stored, at a normal end.
_END_S: Final = 2.0
_LOSSES_MAX: Final = 1_000


class Reading:
    """One subscription, as the link tells it and as its messages know it."""

    def __init__(self, link: ClientLink, terms: SubscriptionTerms) -> None:
        self.resumed = False
        self.delivered = 0
        self.redelivered = 0
        self.lost = 0
        self.inbox: Final = Inbox(terms.options, grant=self._grant)
        self._link: Final = link
        self._terms: Final = terms
        self._names: Final = StreamNames(link, terms.options.streams)
        self._read: Final = ReadPositions(terms.options.positions)
        self._opened: Final[asyncio.Future[None]] = asyncio.get_running_loop().create_future()
        self.losses: Final[FeedSource[Loss]] = FeedSource(_LOSSES_MAX)
        self._poison: PoisonError | None = None
        # The texts of pubends, for the ids of messages.
        self._publishers: Final[dict[int, str]] = {}
        self._number: Final = link.subscribe(terms.options, self)
        self.acks: Final = Acknowledgements(link, self._number, acks_next=terms.acks_next)

    # What the subscription does

    async def opened(self) -> None:
        """Waits until the host has attached it."""
        try:
            await self._opened
        except asyncio.CancelledError:
            self._end(None)
            raise

    def take_message(self) -> StreamMessage | None:
        """The first message; None if there is something else first."""
        items = self.inbox.items
        if not items or type(items[0]) is not Received:
            return None
        stream = self._names.find(items[0].pubend)
        if stream is None:
            return None
        item = self.inbox.take_message()
        self.delivered += 1
        if item.attempt > 1:
            self.redelivered += 1
        return self._message(item, stream)

    async def take_other(self, *, raises_gaps: bool) -> Loss | None:
        """Deals with what comes before the first message: a gap, or a stream that has no name."""
        item = self.inbox.items[0]
        stream = self._names.find(item.pubend)
        if stream is None:
            await self._names.learn(item.pubend)
        elif isinstance(item, Missed):
            loss = loss_of(item, stream)
            error = None
            if raises_gaps:
                error = await gap_error(loss, self._terms.durable, self._names)
            # Others may have taken it meanwhile.
            if self.inbox.take_gap(item):
                self.lost += loss.count
                # It is dealt with, once the program asks for what lies behind.
                self.acks.handed_over(item.pubend, item.stop - 1)
                if error is not None:
                    raise error
                return loss
        return None

    async def finish(self) -> None:
        """A normal end: what is in hand is acknowledged."""
        if self.inbox.is_ended:
            return
        try:
            async with asyncio.timeout(_END_S):
                await self.acks.finish()
        except (TimeoutError, ClosedError):
            _log.warning(
                "the last messages of %s may come again: their acknowledgement is not stored",
                self._terms.durable or "a subscription",
                extra={"durable": self._terms.durable},
            )
        finally:
            self._end(None)

    def abandon(self) -> None:
        """Ends reading without an acknowledgement: what is in hand comes again."""
        self._end(None, is_clean=not self.acks.has_unacknowledged)

    # What messages do

    async def acknowledge(self, position: Position) -> None:
        """This message and all before it have been dealt with; returns when that is stored."""
        self._raise_if_ended()
        await self.acks.acknowledge(WirePosition(position.pubend, position.tick))

    async def fail(self, position: Position, reason: str) -> None:
        """This message could not be dealt with: it and all behind it come again."""
        self._raise_if_ended()
        pubend, tick = position.pubend, position.tick
        if self._link.is_retried(self._number, pubend, tick):
            self.acks.forget(WirePosition(pubend, tick))
        else:
            before = {pubend: tick - 1}
            self.inbox.drop_behind(before)
            self.acks.forget_behind(before)
            self._read.go_back(before)
        self._link.fail(self._number, pubend, tick, reason)

    # What the broker says, by way of the link

    def on_messages(self, messages: list[Received]) -> None:
        """The next messages."""
        self.inbox.put(messages)

    def on_fact(self, fact: Missed | Opened | Moved | AckStored | Poisonous) -> None:
        """Anything else."""
        if isinstance(fact, AckStored):
            self.acks.on_stored(fact.positions)
        elif isinstance(fact, Missed):
            self.inbox.put((fact,))
        elif isinstance(fact, Opened):
            self._on_opened(fact)
        elif isinstance(fact, Moved):
            self.inbox.clear()
            self.acks.begin_anew()
            self._read.clear()
        else:
            self._poison = self._poison_error(fact.poison)

    def on_disconnected(self) -> None:
        """The subscription goes on with the next connection."""
        self.acks.on_disconnected()

    def on_ended(self, why: Refused | Exception | None) -> None:
        """The host, or the node, has ended it."""
        error = why if not isinstance(why, Refused) else self._poison
        if isinstance(why, Refused) and error is None:
            if why.reason == "taken_over":
                # Another reader has all of it now.
                self.inbox.clear()
            error = durable_error(refused_error(why), self._terms.durable)
        self._end(error)

    # How it does it

    def _message(self, item: Received, stream: str) -> StreamMessage:
        pubend, tick, body = item.pubend, item.tick, item.body
        if item.attempt > 1 and self._link.is_retried(self._number, pubend, tick):
            # It was parked: what was read since stays read, and it is acknowledged by itself.
            read = self._read.all()
            self.acks.handed_over_again(pubend, tick)
        else:
            read = self._read.advance(pubend, tick)
            self.acks.handed_over(pubend, tick)
        publisher = self._publishers.get(pubend)
        if publisher is None:
            publisher = self._publishers[pubend] = f"{pubend:016x}"
        return StreamMessage(
            attributes=LazyAttributes(read_attributes_of, body),
            payload=read_payload_of(body),
            id=MessageId(publisher, 0, tick),
            fate=Fate.DELIVERED,
            published_ns=item.published_ns,
            received_ns=time_ns(),
            stream=stream,
            position=Position(pubend, tick),
            attempt=item.attempt,
            _read=read,
            _reader=self,
        )

    def _poison_error(self, poison: Poison) -> PoisonError:
        item = Received(
            subscription=poison.subscription,
            pubend=poison.pubend,
            tick=poison.tick,
            published_ns=poison.published_ns,
            attempt=poison.attempts,
            body=poison.body,
        )
        stream = self._names.find(poison.pubend) or self._terms.options.streams[0]
        return PoisonError(self._message(item, stream), poison.reasons)

    def _grant(self, messages: int, size_bytes: int) -> None:
        self.acks.send()
        self._link.take(self._number, messages, size_bytes)

    def _on_opened(self, fact: Opened) -> None:
        self.resumed = fact.resumed
        self._read.begin(fact.positions)
        terms = self._terms
        if fact.resumed and terms.start != "now" and not terms.options.positions:
            _log.info(
                "durable %r goes on where it was: start=%r was not used, seek() moves it",
                terms.durable,
                terms.start,
                extra={"durable": terms.durable, "start": str(terms.start)},
            )
        if not self._opened.done():
            self._opened.set_result(None)

    def _end(self, error: Exception | None, *, is_clean: bool = True) -> None:
        if self.inbox.is_ended:
            return
        self.inbox.end(error)
        self._link.unsubscribe(self._number, is_clean=is_clean)
        self.acks.end()
        self.losses.end()
        if not self._opened.done():
            self._opened.set_exception(error or ClosedError("this node is closed: connect again"))

    def _raise_if_ended(self) -> None:
        if self.inbox.is_ended:
            raise ClosedError("this subscription has ended: subscribe again")
