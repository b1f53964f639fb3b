"""Messages that are handed out too often: they are parked, or end the subscription."""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.connections import SendToClient
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.parking import ParkedMessage, Parking
from penstock.guaranteed.host.roster import Roster
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.subscription import Position


class PoisonedSubscriptions:
    """The subscriptions of a host that a poisonous message ends."""

    def __init__(self, roster: Roster, parking: Parking, *, send: SendToClient) -> None:
        self._roster: Final = roster
        self._parking: Final = parking
        self._send: Final = send
        # With what their clients are told, and the line that `status` shows.
        self._to_end: Final[list[tuple[Subscription, Poison, str]]] = []

    def take(self, feed: Feed, item: StreamItem) -> bool:
        """A message was handed out too often: parks it, or has its subscription ended.

        Returns whether the subscription goes on.
        """
        subscription = feed.subscription
        durable = subscription.durable
        assert durable is not None
        count, reason = feed.attempts.count(item.tick), next(reversed(feed.attempts.reasons), "")
        parked = ParkedMessage(
            feed.pubend, item.tick, item.published_ns, count, reason, bytes(item.body)
        )
        if durable.parks and self._parking.park(durable.name, parked):
            return True
        full = " and there is no room to park it" if durable.parks else ""
        said = f" ({reason[:200]})" if reason else ""
        text = (
            f"durable {durable.name!r} stopped at {Position(feed.pubend, item.tick)}: handed out"
            f" {count} times and never acknowledged{said}{full}: mend the reader and raise"
            " attempts, seek past it, or pass poison='park'"
        )
        poison = Poison(
            subscription=subscription.number,
            pubend=feed.pubend,
            tick=item.tick,
            published_ns=item.published_ns,
            attempts=count,
            reasons=tuple(feed.attempts.reasons),
            body=parked.body,
        )
        self._to_end.append((subscription, poison, text))
        return False

    def end_subscriptions(self, *, now: Instant) -> None:
        """Ends those that could not be ended while messages were passed on."""
        while self._to_end:
            subscription, poison, text = self._to_end.pop()
            if self._roster.is_open(subscription):
                if subscription.durable is not None:
                    subscription.durable.stopped = text
                self._send(subscription.port, poison)
                subscription.refuse("poison", text)
                self._roster.end(subscription, is_clean=False, now=now)
