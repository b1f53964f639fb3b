"""The readers of one pubend that catch up, each for one feed, by requests alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.guaranteed.host.catch_up_turns import CatchUpTurns
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.feed_delivery import leave_live
from penstock.guaranteed.host.reader import Reader
from penstock.guaranteed.host.reader_numbers import ReaderNumbers
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest


class CatchUp:
    """A bounded number of them at a time; others wait in line."""

    def __init__(
        self,
        pubend: int,
        host: str,
        *,
        settings: HostSettings,
        congestion: CongestionSettings,
        numbers: ReaderNumbers,
        ask: Callable[[BrokerFrame], None],
        gaps: Callable[[int], Sequence[Gap]],
    ) -> None:
        self._pubend: Final = pubend
        self._host: Final = host
        self._settings: Final = settings
        self._congestion: Final = congestion
        self._numbers: Final = numbers
        self._ask: Final = ask
        self._gaps: Final = gaps
        self._feeds: Final[dict[int, Feed]] = {}
        self._turns: Final = CatchUpTurns(settings.catch_up_readers_max)

    def __len__(self) -> int:
        return len(self._feeds)

    @property
    def feeds(self) -> list[Feed]:
        """Those that have a reader."""
        return list(self._feeds.values())

    def feed_of(self, number: int) -> Feed | None:
        """Whose reader has this number."""
        return self._feeds.get(number)

    def open(self, feed: Feed, *, now: Instant) -> Reader | None:
        """The reader of a feed, a new one if it has none; None if it has to wait for its turn."""
        if feed.reader is not None:
            return feed.reader
        if not self._turns.is_due(feed, self._feeds.values(), now=now):
            idle = self._turns.find_idle(feed, self._feeds.values(), now=now)
            if idle is None:
                return None
            self.close(idle)
        self._turns.leave(feed)
        reader = feed.reader = Reader(
            self._numbers.next(),
            feed.position,
            settings=self._settings,
            congestion=self._congestion,
            predicate=feed.subscription.predicate,
        )
        self._feeds[reader.number] = feed
        self._register(reader)
        for gap in self._gaps(self._pubend):
            feed.pending.extend(reader.learn(gap))
        return reader

    def close(self, feed: Feed) -> None:
        """A feed reads no longer by itself, nor follows reader 0."""
        reader = feed.reader
        self._turns.leave(feed)
        feed.reader = feed.target = None
        feed.drop_held()
        leave_live(feed)
        if reader is not None:
            del self._feeds[reader.number]
            reader_id = ReaderId(self._host, reader.number)
            self._ask(ReaderRequest(pubend=self._pubend, reader=reader_id, predicate=None))

    def took(self, feed: Feed) -> None:
        """A feed has credit."""
        self._turns.took(feed)

    def arrived(self, feed: Feed) -> None:
        """A feed needs no turn."""
        self._turns.leave(feed)

    def request(self, reader: Reader, *, now: Instant) -> None:
        """Asks for what a reader lacks."""
        ranges = reader.to_ask(now=now)
        if ranges:
            reader_id = ReaderId(self._host, reader.number)
            self._ask(Nack(pubend=self._pubend, ranges=ranges, reader=reader_id))

    def forgotten(self, number: int, *, now: Instant) -> None:
        """The pubend does not know a reader, as after its restart: registers it again."""
        feed = self._feeds.get(number)
        if feed is not None and feed.reader is not None:
            self._register(feed.reader)
            feed.reader.requests.clear()
            self.request(feed.reader, now=now)

    def link_lost(self) -> None:
        """Requests are lost."""
        for feed in self._feeds.values():
            assert feed.reader is not None
            feed.reader.requests.clear()

    def wake(self, *, now: Instant) -> None:
        """Asks again for what has not come."""
        for reader in self.asking():
            at = reader.requests.next_wakeup()
            if at is not None and at <= now:
                self.request(reader, now=now)

    def asking(self) -> list[Reader]:
        """Those that ask; one whose messages wait asks for no more of them."""
        return [
            feed.reader
            for feed in self._feeds.values()
            if feed.reader is not None and not feed.pending
        ]

    def _register(self, reader: Reader) -> None:
        reader_id = ReaderId(self._host, reader.number)
        self._ask(ReaderRequest(pubend=self._pubend, reader=reader_id, predicate=reader.predicate))
