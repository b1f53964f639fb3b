"""One pubend as a host reads it: reader 0, the readers that catch up, and the filter for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.guaranteed.host.catch_up_turns import CatchUpTurns
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.reader import Decided, Reader
from penstock.guaranteed.relay.relay import union
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest

# Of readers in a life of the host, and of lives before they come again: 32 bits.
_NUMBERS: Final = 1 << 20
_LIVES: Final = 1 << 12


class PubendReading:
    """The readers of one pubend, and the feeds that follow them."""

    def __init__(
        self,
        pubend: int,
        host: str,
        life: int,
        *,
        settings: HostSettings,
        ask: Callable[[BrokerFrame], None],
        gaps: Callable[[int], Sequence[Gap]] = lambda _pubend: (),
        tell_open_gap: Callable[[int, int], None] = lambda _pubend, _tick: None,
    ) -> None:
        self.pubend: Final = pubend
        # What a reader has to be told of whatever the pubend says: lost with a restored log.
        self._gaps: Final = gaps
        self._tell_open_gap: Final = tell_open_gap
        # After a restart reader 0 waits for those that have read before.
        self._gathers_until: Instant | None = None
        self._host: Final = host
        self._settings: Final = settings
        self._ask: Final = ask
        # None before the first filter is granted.
        self.live: Reader | None = None
        self.feeds: Final[list[Feed]] = []
        self._catching_up: Final[dict[int, Feed]] = {}
        self._turns: Final = CatchUpTurns(settings.catch_up_readers_max)
        # A pubend may still have readers of an earlier life: theirs are other numbers.
        self._numbers_start: Final = life % _LIVES * _NUMBERS
        self._last_number = 0
        self._epoch = 0
        self._asked: Predicate | None = None
        self._granted: Predicate | None = None
        self._granted_from = 0
        self._granted_epoch = 0
        # Messages that came, and those of them that were known.
        self.received = 0
        self.repeated = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in doubt, and nobody catches up."""
        return (
            not self._catching_up
            and (self._granted == self._asked)
            and (self.live is None or (not self.live.in_doubt() and self.live.requests.is_idle))
        )

    def doubts(self) -> dict[int, int]:
        """By number of the reader: its first tick in doubt."""
        live = {} if self.live is None else {0: self.live.doubt}
        feeds = self._catching_up.items()
        return live | {number: feed.reader.doubt for number, feed in feeds if feed.reader}

    @property
    def evidence(self) -> int:
        """All ticks before it have been decided, as far as reader 0 has heard."""
        return 0 if self.live is None else self.live.evidence

    # What status tells

    @property
    def catch_up_readers(self) -> int:
        """How many subscriptions read by themselves."""
        return len(self._catching_up)

    @property
    def waiting_readers(self) -> int:
        """How many would, if there were not too many of them."""
        return sum(
            not feed.is_live and feed.reader is None and feed.subscription.has_credit
            for feed in self.feeds
        )

    def oldest_gap(self) -> tuple[int, int] | None:
        """The first tick in doubt, and the end of what is decided."""
        in_doubt = [] if self.live is None else self.live.in_doubt()
        return (in_doubt[0][0], self.live.evidence) if self.live and in_doubt else None

    # Feeds

    def add(self, feed: Feed, *, now: Instant) -> None:
        """A subscription begins to read at its position."""
        self.feeds.append(feed)
        is_answered = self._epoch == self._granted_epoch
        granted = self._granted
        # While a filter is on its way up, it may be a narrower one: its answer has to come first.
        if granted is not None and is_answered and covers(granted, feed.subscription.predicate):
            assert self.live is not None
            # While reader 0 is behind, it may know silence from before that filter was granted.
            feed.valid_from = max(self.live.doubt, self._granted_from)
        self._ask_filter()
        self.proceed(feed, now=now)

    def remove(self, feed: Feed) -> None:
        """A subscription ends."""
        self.feeds.remove(feed)
        self._close(feed)
        self._ask_filter()

    def proceed(self, feed: Feed, *, now: Instant) -> None:
        """Lets a feed go on: with reader 0 if it has arrived there, else with its own."""
        live = self.live
        if live is None:
            return
        if feed.is_live:
            if feed.pending and self._hand_on_pending(feed, now):
                feed.position = max(feed.position, live.doubt)
        elif feed.reader is not None:
            self._hand_on(feed, now)
        elif feed.valid_from is not None and feed.position >= max(feed.valid_from, live.doubt):
            feed.is_live = True
            self._turns.leave(feed)
        elif feed.may_read(now):
            self._catch_up(feed, now)

    def rewind(self, feed: Feed, *, now: Instant) -> None:
        """The position of a feed has been set: reads on from there."""
        self._close(feed)
        self.proceed(feed, now=now)

    def give_up(self, gap: Gap, *, now: Instant) -> None:
        """Messages are lost, whatever the pubend says of their ticks."""
        self._on_live(gap, now)
        for feed in list(self._catching_up.values()):
            if feed.reader is not None:
                feed.pending.extend(feed.reader.learn(gap))
                self._hand_on(feed, now)

    def reset(self) -> None:
        """Forgets everything; nobody reads."""
        assert not self.feeds, "somebody reads what is to be forgotten"
        self.live = self._asked = self._granted = None

    # After a restart

    def gather(self, until: Instant) -> None:
        """Waits with the first filter for those that have read before: they go on together."""
        self._gathers_until = until

    def stop_gathering(self) -> None:
        """All are there, or it took too long."""
        if self._gathers_until is not None:
            self._gathers_until = None
            self._ask_filter()

    def _catch_up(self, feed: Feed, now: Instant) -> None:
        reader = feed.reader
        assert self.live is not None
        if reader is None:
            others = self._catching_up.values()
            if not self._turns.is_due(feed, others, now=now):
                idle = self._turns.find_idle(feed, others, now=now)
                if idle is None:
                    return
                self._close(idle)
            self._turns.leave(feed)
            reader = feed.reader = Reader(
                self._next_number(),
                feed.position,
                settings=self._settings,
                predicate=feed.subscription.predicate,
            )
            self._catching_up[reader.number] = feed
            self._register(reader)
            for gap in self._gaps(self.pubend):
                feed.pending.extend(reader.learn(gap))
        if feed.target is None and feed.valid_from is not None:
            feed.target = max(self.live.doubt, feed.valid_from)
        reader.evidence = max(reader.evidence, feed.target or self.live.doubt)
        self._request(reader, now)
        if feed.pending:
            self._hand_on(feed, now)

    def _next_number(self) -> int:
        self._last_number = self._last_number % (_NUMBERS - 1) + 1
        return self._numbers_start + self._last_number

    def _register(self, reader: Reader) -> None:
        reader_id = ReaderId(self._host, reader.number)
        self._ask(ReaderRequest(pubend=self.pubend, reader=reader_id, predicate=reader.predicate))

    def _close(self, feed: Feed) -> None:
        reader = feed.reader
        self._turns.leave(feed)
        feed.reader = feed.target = None
        feed.drop_held()
        self._leave_live(feed)
        if reader is not None:
            del self._catching_up[reader.number]
            reader_id = ReaderId(self._host, reader.number)
            self._ask(ReaderRequest(pubend=self.pubend, reader=reader_id, predicate=None))

    # What the relay says

    def receive(self, frame: BrokerFrame | Run, *, now: Instant) -> None:
        """A frame about this pubend."""
        if isinstance(frame, FilterAck):
            self._on_filter_ack(frame, now)
        elif isinstance(frame, ReaderRequest):
            self._on_reader_unknown(frame, now)
        elif isinstance(frame, Run | Gap | Horizon):
            reader = None if isinstance(frame, Horizon) else frame.reader
            if reader is None:
                self._on_live(frame, now)
            else:
                self._on_catch_up(reader.number, frame, now)

    def link_lost(self) -> None:
        """Requests are lost; what is known stays known."""
        if self.live is not None:
            self.live.requests.clear()
        for feed in self._catching_up.values():
            assert feed.reader is not None
            feed.reader.requests.clear()

    def _on_live(self, frame: Run | Gap | Horizon, now: Instant) -> None:
        live = self.live
        if live is None:
            return
        self._count(live, frame)
        decided = live.learn(frame)
        for feed in self.feeds:
            if feed.is_live:
                self._pass_on(feed, decided, live.doubt, now)
            elif feed.target is not None:
                feed.hold(decided)
        self._request(live, now)
        for feed in self.feeds:
            if not feed.is_live:
                self.proceed(feed, now=now)

    def _pass_on(self, feed: Feed, decided: Sequence[Decided], doubt: int, now: Instant) -> None:
        """Hands out what a feed of reader 0 wants; what has to wait is kept, within a bound.

        What has waited goes first: nobody says when a connection has room again.
        """
        if not feed.pending or self._hand_on_pending(feed, now):
            done = self._hand_out(feed, decided, now)
            if done == len(decided):
                feed.position = max(feed.position, doubt)
                return
            decided = decided[done:]
        feed.wait(decided)
        settings = self._settings
        if (
            len(feed.pending) > settings.waiting_messages
            or feed.pending_bytes > settings.waiting_bytes
        ):
            # It falls behind, and reads what it has not got by itself.
            self._leave_live(feed)

    def _leave_live(self, feed: Feed) -> None:
        feed.is_live = False
        feed.pending.clear()
        feed.pending_bytes = 0

    def _hand_out(self, feed: Feed, decided: Iterable[Decided], now: Instant) -> int:
        """Hands out what a feed wants, up to what has to wait; returns how many are dealt with."""
        subscription = feed.subscription
        done = subscription.hand_out_untried(feed, decided)
        for each in islice(decided, done, None):
            if isinstance(each, Gap):
                subscription.tell_gap(feed, each)
            elif feed.wants(each) and not subscription.offer(feed, each, now=now):
                feed.position = max(feed.position, each.tick)
                break
            done += 1
        return done

    def _hand_on_pending(self, feed: Feed, now: Instant) -> bool:
        """Hands out what has waited; False if some of it still has to."""
        feed.drop_pending(self._hand_out(feed, feed.pending, now))
        return not feed.pending

    def _on_catch_up(self, number: int, frame: Run | Gap | Horizon, now: Instant) -> None:
        feed = self._catching_up.get(number)
        if feed is None:
            return
        reader = feed.reader
        assert reader is not None
        self._count(reader, frame)
        feed.pending.extend(reader.learn(frame))
        self._hand_on(feed, now)

    def _count(self, reader: Reader, frame: Run | Gap | Horizon) -> None:
        if isinstance(frame, Run):
            self.received += len(frame.items)
            if frame.start < reader.doubt or reader.is_ahead:
                self.repeated += sum(reader.knows(item.tick) for item in frame.items)

    def _hand_on(self, feed: Feed, now: Instant) -> None:
        """Hands out what the feed's own reader has passed, as far as there is credit."""
        reader, subscription = feed.reader, feed.subscription
        assert reader is not None
        if subscription.has_credit:
            self._turns.took(feed)
        if not self._hand_on_pending(feed, now):
            return
        feed.position = max(feed.position, reader.doubt)
        if subscription.has_credit:
            self._try_hand_over(feed, now)

    def _try_hand_over(self, feed: Feed, now: Instant) -> None:
        """At the target, what was held follows, and reader 0 goes on."""
        live, reader, target = self.live, feed.reader, feed.target
        assert live is not None
        assert reader is not None
        if target is None or feed.position < target:
            self._catch_up(feed, now)
            return
        if not feed.attempts.reserve(live.doubt):
            # Else it would fall behind again at once; `proceed` comes when that is on disk.
            return
        held = list(feed.held)
        self._close(feed)
        feed.is_live = True
        self._pass_on(feed, held, live.doubt, now)
        if not feed.is_live:
            self.proceed(feed, now=now)

    def _on_filter_ack(self, frame: FilterAck, now: Instant) -> None:
        if frame.epoch != self._epoch:
            return
        self._granted, self._granted_from = self._asked, frame.tick
        self._granted_epoch = frame.epoch
        begins_at = frame.tick
        if self.live is None:
            # Those that are not far behind go on together; what they have missed is asked for once.
            window = duration_ticks(self._settings.receive_window_ns)
            near = [f.position for f in self.feeds if f.position >= frame.tick - window]
            begins_at = min([frame.tick, *near])
            self.live = Reader(0, begins_at, settings=self._settings)
        for feed in list(self.feeds):
            if feed.valid_from is None:
                feed.valid_from = begins_at
            self.proceed(feed, now=now)
        for gap in self._gaps(self.pubend):
            self._on_live(gap, now)

    def _on_reader_unknown(self, frame: ReaderRequest, now: Instant) -> None:
        """The pubend has forgotten a reader, as after its restart: registers it again."""
        feed = self._catching_up.get(frame.reader.number)
        if feed is not None and feed.reader is not None:
            self._register(feed.reader)
            feed.reader.requests.clear()
            self._request(feed.reader, now)

    # What is asked for

    def _ask_filter(self) -> None:
        wanted = union([feed.subscription.predicate for feed in self.feeds])
        if wanted == self._asked or self._gathers_until is not None:
            return
        self._asked = wanted
        self._epoch += 1
        self._ask(FilterRequest(pubend=self.pubend, epoch=self._epoch, predicate=wanted))

    def _request(self, reader: Reader, now: Instant) -> None:
        ranges = reader.to_ask(now=now)
        if ranges:
            reader_id = ReaderId(self._host, reader.number) if reader.number else None
            self._ask(Nack(pubend=self.pubend, ranges=ranges, reader=reader_id))

    def wake(self, *, now: Instant) -> None:
        """Asks again for what has not come."""
        if self._gathers_until is not None and now >= self._gathers_until:
            self.stop_gathering()
        for reader in self._readers():
            at = reader.alarm_at
            if at is not None and at <= now:
                reader.is_alarmed_at = reader.doubt
                self._tell_open_gap(self.pubend, reader.doubt)
            at = reader.requests.next_wakeup()
            if at is not None and at <= now:
                self._request(reader, now)

    def next_wakeup(self) -> Instant | None:
        """The next request to repeat."""
        readers = self._readers()
        return earliest(
            self._gathers_until,
            *(reader.requests.next_wakeup() for reader in readers),
            *(reader.alarm_at for reader in readers),
        )

    def _readers(self) -> list[Reader]:
        # One whose messages wait asks for no more of them.
        readers = [
            feed.reader
            for feed in self._catching_up.values()
            if feed.reader is not None and not feed.pending
        ]
        return readers if self.live is None else [self.live, *readers]
