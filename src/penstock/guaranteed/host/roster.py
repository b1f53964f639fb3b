"""Who reads what at a host: subscriptions, the durable names they read, and the pubends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.host.subscription import Subscription
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port


class Roster:
    """What the parts of a host share."""

    def __init__(
        self, durables: dict[str, Durable], *, disk: Disk, wall_ns: Callable[[Instant], int]
    ) -> None:
        self.readings: Final[dict[int, PubendReading]] = {}
        self.durables: Final = durables
        # By the port and number of the client.
        self.subscriptions: Final[dict[tuple[Port, int], Subscription]] = {}
        # Who reads a durable name.
        self.reader_of: Final[dict[str, Subscription]] = {}
        # Feeds that wait after a failure or a crash, and until when.
        self.waiting_until: Final[dict[Feed, Instant]] = {}
        self._disk: Final = disk
        self._wall_ns: Final = wall_ns

    def is_open(self, subscription: Subscription) -> bool:
        """Whether it has not ended."""
        key = (subscription.port, subscription.number)
        return self.subscriptions.get(key) is subscription

    def proceed(self, feed: Feed, now: Instant) -> None:
        """Something that a feed may have waited for has happened."""
        subscription = feed.subscription
        if not subscription.is_attached or not self.is_open(subscription):
            return
        reading = self.readings.get(feed.pubend)
        if reading is not None:
            reading.proceed(feed, now=now)

    def proceed_at(self, feed: Feed, at: Instant) -> None:
        """A feed may go on then, if nothing happens before."""
        self.waiting_until[feed] = at

    def move_cursors(self, subscription: Subscription, durable: Durable) -> bool:
        """Takes cursors to where the feeds are; returns whether any moved."""
        moved = False
        if durable.is_moving:
            return False
        for pubend, feed in subscription.feeds.items():
            cursor = feed.cursor()
            if cursor > durable.cursors.get(pubend, -1):
                durable.cursors[pubend] = cursor
                moved = True
        return moved

    def end(
        self, subscription: Subscription, *, is_clean: bool, is_lost: bool = False, now: Instant
    ) -> None:
        """Takes a subscription out, as its client is lost or for good.

        A durable one keeps its cursor.
        """
        del self.subscriptions[subscription.port, subscription.number]
        for pubend, feed in subscription.feeds.items():
            self.waiting_until.pop(feed, None)
            if subscription.is_attached:
                self.readings[pubend].remove(feed, is_lost=is_lost, now=now)
        durable = subscription.durable
        if durable is None:
            return
        if self.reader_of.get(durable.name) is subscription:
            del self.reader_of[durable.name]
        self.move_cursors(subscription, durable)
        durable.is_marked = durable.is_marked and not is_clean
        for pubend, feed in subscription.feeds.items():
            # Now it is known exactly; after a clean end nothing counts as handed out.
            handed_stop = max(feed.attempts.again_stop, feed.attempts.handed_stop)
            durable.reserved[pubend] = 0 if is_clean else handed_stop
        durable.unread_since_ns = self._wall_ns(now)
        durable.save(self._disk)
