"""One pubend as a host reads it: reader 0, the readers that catch up, and the feeds of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.host.catch_up import CatchUp
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.feed_delivery import follow_live, hand_out_pending
from penstock.guaranteed.host.filter_grant import FilterGrant
from penstock.guaranteed.host.lingering import Lingering
from penstock.guaranteed.host.live_reader import LiveReader
from penstock.guaranteed.host.reader import Reader
from penstock.guaranteed.host.reader_numbers import ReaderNumbers
from penstock.guaranteed.predicate_union import union
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.congestion import CongestionQuery
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon
from penstock.wire.frames.guaranteed.requests import FilterAck, ReaderRequest


class PubendReading:
    """The readers of one pubend, and the feeds that follow them."""

    def __init__(
        self,
        pubend: int,
        host: str,
        life: int,
        *,
        settings: HostSettings,
        congestion: CongestionSettings,
        ask: Callable[[BrokerFrame], None],
        gaps: Callable[[int], Sequence[Gap]] = lambda _pubend: (),
        tell_open_gap: Callable[[int, int], None] = lambda _pubend, _tick: None,
    ) -> None:
        self.pubend: Final = pubend
        self.feeds: Final[list[Feed]] = []
        # None before the first filter is granted.
        self.live: LiveReader | None = None
        # What a reader has to be told of whatever the pubend says: lost with a restored log.
        self._gaps: Final = gaps
        self._tell_open_gap: Final = tell_open_gap
        self._host: Final = host
        self._settings: Final = settings
        self._congestion: Final = congestion
        self._ask: Final = ask
        self._numbers: Final = ReaderNumbers(life)
        self._filter: Final = FilterGrant(pubend, ask=ask)
        self._lingering: Final = Lingering(settings.lingers_ns)
        self._catch_up: Final = CatchUp(
            pubend,
            host,
            settings=settings,
            congestion=congestion,
            numbers=self._numbers,
            ask=ask,
            gaps=gaps,
        )
        # Where the furthest was of those that have read before a restart; None: nobody had.
        self._left_off: int | None = None
        # Messages that came, and those of them that were known.
        self.received = 0
        self.repeated = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in doubt, and nobody catches up."""
        return (
            not self._catch_up
            and not self.waiting_readers
            and self._filter.is_settled
            and (self.live is None or self.live.is_idle)
        )

    def doubts(self) -> dict[int, int]:
        """By number of the reader: its first tick in doubt."""
        live = {} if self.live is None else {0: self.live.doubt}
        readers = [feed.reader for feed in self._catch_up.feeds]
        return live | {reader.number: reader.doubt for reader in readers if reader is not None}

    @property
    def evidence(self) -> int:
        """All ticks before it have been decided, as far as reader 0 has heard."""
        return 0 if self.live is None else self.live.reader.evidence

    # What status tells

    @property
    def catch_up_readers(self) -> int:
        """How many subscriptions read by themselves."""
        return len(self._catch_up)

    @property
    def waiting_readers(self) -> int:
        """How many would, if there were not too many of them."""
        return sum(
            not feed.is_live and feed.reader is None and feed.subscription.has_credit
            for feed in self.feeds
        )

    @property
    def is_recovering(self) -> bool:
        """Whether reader 0 is too far behind to keep what is new."""
        return self.live is not None and self.live.is_recovering

    @property
    def dh_rate(self) -> float:
        """How fast the doubt horizon of reader 0 moves: stream time by time, smoothed."""
        return 1.0 if self.live is None else self.live.rate

    @property
    def window_ms(self) -> int:
        """How far ahead of its doubt horizon reader 0 asks for repairs, in stream time."""
        return 0 if self.live is None else self.live.window_ms

    def oldest_gap(self) -> tuple[int, int] | None:
        """The first tick in doubt, and the end of what is decided."""
        in_doubt = [] if self.live is None else self.live.reader.in_doubt()
        return (in_doubt[0][0], self.evidence) if in_doubt else None

    # Feeds

    def add(self, feed: Feed, *, now: Instant) -> None:
        """A subscription begins to read at its position."""
        self.feeds.append(feed)
        if self.live is not None:
            self.live.widen(now=now)
            if self._filter.grants(feed.subscription.predicate):
                # While reader 0 is behind, it may know silence from before that was granted.
                feed.valid_from = self._valid_from(self.live, self._filter.since)
        self._filter.ask(self._wanted())
        self.proceed(feed, now=now)

    def remove(self, feed: Feed, *, is_lost: bool, now: Instant) -> None:
        """A subscription ends, or its client is lost and may come back."""
        self.feeds.remove(feed)
        self._catch_up.close(feed)
        if is_lost:
            self._lingering.keep(feed.subscription.predicate, now=now)
        self._filter.ask(self._wanted())

    def proceed(self, feed: Feed, *, now: Instant) -> None:
        """Lets a feed go on: with reader 0 if it has arrived there, else with its own."""
        live = self.live
        if live is None:
            return
        if feed.is_live:
            if feed.pending and hand_out_pending(feed, now=now):
                feed.position = max(feed.position, live.doubt)
        elif feed.reader is not None:
            self._hand_on(feed, live, feed.reader, now)
        elif feed.valid_from is not None and feed.position >= max(feed.valid_from, live.doubt):
            feed.is_live = True
            self._catch_up.arrived(feed)
        elif feed.may_read(now):
            self._read_on(feed, live, now)

    def rewind(self, feed: Feed, *, now: Instant) -> None:
        """The position of a feed has been set: reads on from there."""
        self._catch_up.close(feed)
        self.proceed(feed, now=now)

    def give_up(self, gap: Gap, *, now: Instant) -> None:
        """Messages are lost, whatever the pubend says of their ticks."""
        self._on_live(gap, now)
        for feed in self._catch_up.feeds:
            if feed.reader is not None:
                feed.pending.extend(feed.reader.learn(gap))
                self.proceed(feed, now=now)

    def reset(self) -> None:
        """Forgets everything; nobody reads."""
        assert not self.feeds, "somebody reads what is to be forgotten"
        if self.live is not None:
            self.live.close()
        self.live = self._left_off = None
        self._lingering.clear()
        self._filter.reset()

    def _wanted(self) -> Predicate:
        wanted = [feed.subscription.predicate for feed in self.feeds]
        return union([*wanted, *self._lingering.predicates])

    def _valid_from(self, live: LiveReader, tick: int) -> int:
        """What reader 0 knows of later ticks holds for a new feed, if its filter does from here."""
        return max(tick, live.doubt, live.repair.answered_to)

    # After a restart

    def gather(self, until: Instant, furthest: int) -> None:
        """Waits with the first filter for those that have read before: they go on together.

        The furthest of them was where reader 0 was, however long ago that is. At 0 nobody had read
        anything yet: what was before is for each to catch up with.
        """
        self._filter.gathers_until = until
        self._left_off = furthest or None

    def stop_gathering(self) -> None:
        """All are there, or it took too long."""
        if self._filter.gathers_until is not None:
            self._filter.gathers_until = None
            self._filter.ask(self._wanted())

    # What the relay says

    def receive(self, frame: BrokerFrame | Run, *, now: Instant) -> None:
        """A frame about this pubend."""
        if isinstance(frame, FilterAck):
            self._on_filter_ack(frame, now)
        elif isinstance(frame, ReaderRequest):
            self._on_reader_forgotten(frame.reader.number, now)
        elif isinstance(frame, CongestionQuery):
            if self.live is not None:
                self.live.on_query(frame, is_attached=bool(self.feeds), now=now)
        elif isinstance(frame, Run | Gap | Horizon):
            reader = None if isinstance(frame, Horizon) else frame.reader
            if reader is None or (self.live and self.live.repair.owns(reader.number)):
                self._on_live(frame, now)
            else:
                self._on_catch_up(reader.number, frame, now)

    def link_lost(self) -> None:
        """Requests are lost; what is known stays known."""
        if self.live is not None:
            self.live.link_lost()
        self._catch_up.link_lost()

    def _on_live(self, frame: Run | Gap | Horizon, now: Instant) -> None:
        live = self.live
        if live is None:
            return
        self._count(live.reader, frame, now)
        decided = live.learn(frame, now=now)
        for feed in self.feeds:
            if feed.is_live:
                follow_live(feed, decided, live.doubt, settings=self._settings, now=now)
            elif feed.target is not None:
                feed.hold(decided)
        live.request(now=now)
        for feed in self.feeds:
            if not feed.is_live:
                self.proceed(feed, now=now)

    def _on_catch_up(self, number: int, frame: Run | Gap | Horizon, now: Instant) -> None:
        feed = self._catch_up.feed_of(number)
        if feed is not None and feed.reader is not None:
            self._count(feed.reader, frame, now)
            feed.pending.extend(feed.reader.learn(frame))
            self.proceed(feed, now=now)

    def _count(self, reader: Reader, frame: Run | Gap | Horizon, now: Instant) -> None:
        if isinstance(frame, Run):
            self.received += len(frame.items)
            if frame.start < reader.doubt or reader.is_ahead:
                known = sum(reader.knows(item.tick) for item in frame.items)
                self.repeated += known
                if known:
                    reader.requests.came_again(now=now)

    def _on_filter_ack(self, frame: FilterAck, now: Instant) -> None:
        if not self._filter.on_ack(frame):
            return
        valid_from = frame.tick
        if self.live is None:
            # Those that are not far behind go on together; what they have missed is asked for once.
            begin = frame.tick if self._left_off is None else min(frame.tick, self._left_off)
            begin -= duration_ticks(self._settings.receive_window_ns)
            near = [f.position for f in self.feeds if f.position >= begin]
            valid_from = min([frame.tick, *near])
            self.live = self._new_live_reader(valid_from, now)
        valid_from = max(valid_from, self.live.repair.answered_to)
        for feed in list(self.feeds):
            if feed.valid_from is None:
                feed.valid_from = valid_from
            self.proceed(feed, now=now)
        for gap in self._gaps(self.pubend):
            self._on_live(gap, now)

    def _new_live_reader(self, begins_at: int, now: Instant) -> LiveReader:
        return LiveReader(
            self.pubend,
            self._host,
            begins_at,
            settings=self._settings,
            congestion=self._congestion,
            numbers=self._numbers,
            ask=self._ask,
            wanted=self._wanted,
            now=now,
        )

    def _on_reader_forgotten(self, number: int, now: Instant) -> None:
        """The pubend has forgotten a reader, as after its restart."""
        if self.live is not None and self.live.repair.owns(number):
            self.live.forgotten(now=now)
        else:
            self._catch_up.forgotten(number, now=now)

    # Catching up

    def _read_on(self, feed: Feed, live: LiveReader, now: Instant) -> None:
        """Has the feed's own reader ask for more."""
        reader = self._catch_up.open(feed, now=now)
        if reader is None:
            return
        if feed.target is None and feed.valid_from is not None:
            feed.target = max(live.doubt, feed.valid_from)
        reader.evidence = max(reader.evidence, feed.target or live.doubt)
        self._catch_up.request(reader, now=now)
        if feed.pending:
            self._hand_on(feed, live, reader, now)

    def _hand_on(self, feed: Feed, live: LiveReader, reader: Reader, now: Instant) -> None:
        """Hands out what the feed's own reader has passed, as far as there is credit."""
        if feed.subscription.has_credit:
            self._catch_up.took(feed)
        if not hand_out_pending(feed, now=now):
            # The network is faster than the program: a wide window would fill memory.
            reader.requests.window.begin_recovery()
            return
        feed.position = max(feed.position, reader.doubt)
        if feed.subscription.has_credit:
            self._try_hand_over(feed, live, now)

    def _try_hand_over(self, feed: Feed, live: LiveReader, now: Instant) -> None:
        """At the target, what was held follows, and reader 0 goes on."""
        target = feed.target
        if target is None or feed.position < target:
            self._read_on(feed, live, now)
            return
        if not feed.attempts.reserve(live.doubt):
            # Else it would fall behind again at once; `proceed` comes when that is on disk.
            return
        held = list(feed.held)
        self._catch_up.close(feed)
        feed.is_live = True
        follow_live(feed, held, live.doubt, settings=self._settings, now=now)
        if not feed.is_live:
            self.proceed(feed, now=now)

    # Time

    def wake(self, *, now: Instant) -> None:
        """Asks again for what has not come."""
        gathers_until = self._filter.gathers_until
        if gathers_until is not None and now >= gathers_until:
            self.stop_gathering()
        if self._lingering.expire(now=now):
            self._filter.ask(self._wanted())
        for reader in self._readers():
            at = reader.alarm_at
            if at is not None and at <= now:
                reader.is_alarmed_at = reader.doubt
                self._tell_open_gap(self.pubend, reader.doubt)
        if self.live is not None:
            self.live.wake(now=now)
        self._catch_up.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """The next request to repeat, or whatever else is due first."""
        first, live = earliest(self._filter.gathers_until, self._lingering.next_wakeup()), self.live
        if live is not None:
            first = earliest(first, live.next_wakeup(), live.reader.alarm_at)
        for reader in self._catch_up.asking() if self._catch_up else ():
            first = earliest(first, reader.requests.next_wakeup(), reader.alarm_at)
        return first

    def _readers(self) -> list[Reader]:
        readers = self._catch_up.asking()
        return readers if self.live is None else [self.live.reader, *readers]
