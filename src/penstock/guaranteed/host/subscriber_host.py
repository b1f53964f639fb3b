"""The host of a broker: attaches clients' subscriptions, and keeps the cursors of durable ones.

A subscription is confirmed when the pubend holds its messages and its name is on disk: what is
published after that is delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.attempts import Attempts
from penstock.guaranteed.host.durable import KEY, Durable
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.forgetting import Forgetting
from penstock.guaranteed.host.holds import Holds
from penstock.guaranteed.host.parking import ParkedMessage, Parking
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import StreamItem
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import SECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    WITHDRAWN,
    BrokerFrame,
    ClientFrame,
    Start,
    StartKind,
)
from penstock.wire.frames.guaranteed.client import Credit, Refused, RefusedKind
from penstock.wire.frames.guaranteed.rows import Ack, Held, HostAck
from penstock.wire.frames.guaranteed.subscription import (
    Acked,
    Attach,
    AttachFlags,
    ClientAck,
    Detach,
    Fail,
    Forget,
    Position,
)


class _Deferred(msgspec.Struct):
    """An ATTACH that waits, and the credit that has come since."""

    frame: Attach
    credits: list[Credit]


class SubscriberHost:
    """All subscriptions at one broker."""

    def __init__(
        self,
        name: str,
        life: int,
        *,
        disk: Disk,
        settings: HostSettings,
        stored: Mapping[str, bytes],
        pubends_of: Callable[[str], list[int]],
        knows_all_streams: Callable[[], bool],
        ask: Callable[[BrokerFrame], None],
        send: Callable[[Port, ClientFrame], None],
        name_of: Callable[[Port], str],
        wall_ns: Callable[[Instant], int],
    ) -> None:
        self.name: Final = name
        self._life: Final = life
        self.readings: Final[dict[int, PubendReading]] = {}
        self.durables: Final[dict[str, Durable]] = {
            key.removeprefix(KEY): Durable.restore(key.removeprefix(KEY), value)
            for key, value in stored.items()
            if key.startswith(KEY)
        }
        self._disk: Final = disk
        self._settings: Final = settings
        self._pubends_of: Final = pubends_of
        self._knows_all_streams: Final = knows_all_streams
        # Attachments to streams that a parent, which is away, may know.
        self._deferred: Final[dict[tuple[Port, int], _Deferred]] = {}
        self._ask: Final = ask
        self._send: Final = send
        self._subscriptions: Final[dict[tuple[Port, int], Subscription]] = {}
        self._name_of: Final = name_of
        self._wall_ns: Final = wall_ns
        # Who reads a durable name.
        self._reader_of: Final[dict[str, Subscription]] = {}
        self._holds: Final = Holds(name, life, settings=settings, ask=ask)
        self._forgetting: Final = Forgetting(disk, self._holds)
        self._forgetting.restore(stored, self.durables)
        self.parking: Final = Parking(disk, settings)
        self.parking.restore(stored)
        # Feeds that wait after a failure, and subscriptions that a poisonous message ends.
        self._backing_off: Final[dict[Feed, Instant]] = {}
        self._poisoned: Final[list[tuple[Subscription, str]]] = []
        # What parents were last told, by pubend.
        self._acknowledged: Final[dict[int, int]] = {}
        self._acks_at: Instant = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is outstanding."""
        return not self._holds and all(each.is_idle for each in self.readings.values())

    def table_sizes(self) -> list[tuple[str, int]]:
        """Names and sizes of what grows with subscriptions, for checkers."""
        return [
            ("subscriptions", len(self._subscriptions)),
            ("deferred attachments", len(self._deferred)),
            ("holds", len(self._holds)),
        ]

    # Clients

    def receive_from_client(self, port: Port, frame: ClientFrame, *, now: Instant) -> None:
        """What a client wants of its subscriptions."""
        if isinstance(frame, Attach):
            self._on_attach(port, frame, now)
            return
        if isinstance(frame, Credit):
            subscription = self._subscriptions.get((port, frame.number))
            if subscription is not None:
                self._on_credit(subscription, frame, now)
            elif (port, frame.number) in self._deferred:
                self._deferred[port, frame.number].credits.append(frame)
        elif isinstance(frame, ClientAck):
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._on_ack(subscription, frame, now)
        elif isinstance(frame, Fail):
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._on_fail(subscription, frame, now)
        elif isinstance(frame, Forget):
            self.forget(frame.durable, now=now)
        elif isinstance(frame, Detach):
            self._deferred.pop((port, frame.subscription), None)
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._end(subscription, is_clean=True, now=now)

    def client_gone(self, port: Port, *, now: Instant) -> None:
        """A connection has ended: its subscriptions do, durable ones keep their cursor."""
        for subscription in [s for (p, _), s in self._subscriptions.items() if p == port]:
            self._end(subscription, is_clean=False, now=now)
        for key in [key for key in self._deferred if key[0] == port]:
            del self._deferred[key]

    def streams_changed(self, *, now: Instant) -> None:
        """A parent has said what it knows: looks again at what waited for that."""
        waiting = dict(self._deferred)
        self._deferred.clear()
        for (port, _), deferred in waiting.items():
            self._on_attach(port, deferred.frame, now)
            for credit in deferred.credits:
                self.receive_from_client(port, credit, now=now)

    def _on_attach(self, port: Port, frame: Attach, now: Instant) -> None:
        is_known = self._knows_all_streams() or all(map(self._pubends_of, frame.streams))
        if not is_known and len(self._deferred) < self._settings.subscriptions_max:
            self._deferred[port, frame.subscription] = _Deferred(frame, [])
            return
        refused = self._find_refusal(port, frame)
        if refused is not None:
            self._send(port, refused)
            return
        durable = self.durables.get(frame.durable) if frame.durable else None
        resumed = durable is not None
        if durable is not None:
            reader = self._reader_of.get(frame.durable)
            if reader is not None:
                self._fence(reader, now)
            durable.predicate = frame.predicate
        elif frame.durable:
            durable = Durable(frame.durable, streams=frame.streams, predicate=frame.predicate)
            self.durables[frame.durable] = durable
        subscription = Subscription(
            port,
            frame.subscription,
            predicate=frame.predicate,
            durable=durable,
            resumed=resumed,
            since_ns=self._wall_ns(now),
            send=self._send,
            on_poison=self._on_poison,
        )
        self._subscriptions[port, frame.subscription] = subscription
        was_marked = False
        if durable is not None:
            self._reader_of[durable.name] = subscription
            durable.attempts_max = frame.attempts_max
            durable.parks = bool(frame.flags & AttachFlags.PARK)
            durable.expire_s = frame.expire_s
            durable.unread_since_ns = 0
            was_marked, durable.is_marked = durable.is_marked, True
        self._place(subscription, frame, was_marked=was_marked, now=now)

    def _find_refusal(self, port: Port, frame: Attach) -> Refused | None:
        def refused(reason: str, text: str) -> Refused:
            return Refused(
                kind=RefusedKind.SUBSCRIPTION, number=frame.subscription, reason=reason, text=text
            )

        if (port, frame.subscription) in self._subscriptions:
            return refused("in_use", f"this connection has a subscription {frame.subscription}")
        if len(self._subscriptions) >= self._settings.subscriptions_max:
            return refused("full", f"this broker has its {len(self._subscriptions)} subscriptions")
        if not frame.streams:
            return refused("unknown_stream", "a subscription names at least one stream")
        for stream in frame.streams:
            if not self._pubends_of(stream):
                return refused(
                    "unknown_stream",
                    f"no stream {stream!r} here: create it with 'penstock stream create {stream}'",
                )
        durable = self.durables.get(frame.durable) if frame.durable else None
        if durable is None:
            if frame.durable and len(self.durables) >= self._settings.durables_max:
                return refused("full", f"this broker has its {len(self.durables)} durable names")
            return None
        reader = self._reader_of.get(frame.durable)
        if reader is not None and not frame.flags & AttachFlags.TAKEOVER:
            return refused(
                "in_use",
                f"durable {frame.durable!r} is read by {self._name_of(reader.port)} since"
                f" {_time_of_day(reader.since_ns)}: end that reader, or pass takeover=True",
            )
        if durable.streams != frame.streams:
            return refused(
                "other_streams",
                f"durable {frame.durable!r} reads {', '.join(durable.streams)}: name the same",
            )
        if durable.predicate != frame.predicate and not frame.flags & AttachFlags.CHANGE_FILTER:
            return refused(
                "other_filter",
                f"durable {frame.durable!r} has another filter: pass change_filter=True",
            )
        return None

    def _place(
        self, subscription: Subscription, frame: Attach, *, was_marked: bool, now: Instant
    ) -> None:
        """Finds where each pubend goes on: as the client says, by the cursor, or by HOLD."""
        own = {position.pubend: position.tick for position in frame.positions}
        durable = subscription.durable
        # Against an answer that comes while others are still asked.
        subscription.unplaced = 1
        subscription.pubends = [p for name in frame.streams for p in self._pubends_of(name)]
        for pubend in subscription.pubends:
            cursor = None if durable is None else durable.cursors.get(pubend)
            tick = own.get(pubend, cursor)
            # Before the cursor the pubend may have trimmed: a client that goes back, or has not
            # heard of the silence up to there, asks first.
            is_held = durable is None or (
                cursor is not None and tick is not None and tick >= cursor
            )
            if tick is not None and is_held:
                is_own = pubend in own
                self._add_feed(subscription, pubend, tick + 1, is_own=is_own, was_marked=was_marked)
            else:
                start = frame.start if tick is None else Start(StartKind.TICK, tick)
                self._hold(subscription, pubend, start, now)
        self._placed(subscription, now)

    def _add_feed(
        self,
        subscription: Subscription,
        pubend: int,
        position: int,
        *,
        is_own: bool = False,
        was_marked: bool = False,
    ) -> None:
        """A pubend is read from `position` on, which the client or a cursor has said."""
        durable = subscription.durable
        again_stop = 0
        if durable is not None:
            again_stop = durable.again.get(pubend, 0)
            failed_tick, _ = durable.attempts.get(pubend, (-1, 0))
            # A client that resumes has not seen what lies behind, unless it has failed there.
            if was_marked and (not is_own or failed_tick >= position):
                again_stop = max(again_stop, durable.reserved.get(pubend, 0))
            ahead = duration_ticks(self._settings.reserve_ns)
            durable.reserved[pubend] = max(durable.reserved.get(pubend, 0), position + ahead)
        feed: Feed
        attempts = Attempts(
            durable,
            pubend,
            disk=self._disk,
            settings=self._settings,
            resume=lambda now: self._proceed(feed, now),
            again_stop=again_stop,
            handed_stop=position if is_own else 0,
        )
        acknowledged = None
        if durable is not None and is_own:
            acknowledged = min(durable.cursors[pubend], position - 1)
        feed = Feed(subscription, pubend, position, attempts=attempts, acknowledged=acknowledged)
        subscription.feeds[pubend] = feed

    def _proceed(self, feed: Feed, now: Instant) -> None:
        """Something that a feed may have waited for has happened."""
        if self._is_attached(feed.subscription) and feed.pubend in self.readings:
            self.readings[feed.pubend].proceed(feed, now=now)

    def _is_attached(self, subscription: Subscription) -> bool:
        return subscription.is_attached and self._is_open(subscription)

    def _is_open(self, subscription: Subscription) -> bool:
        key = (subscription.port, subscription.number)
        return self._subscriptions.get(key) is subscription

    def _hold(self, subscription: Subscription, pubend: int, start: Start, now: Instant) -> None:
        durable = subscription.durable
        subscription.unplaced += 1
        self._holds.ask(
            pubend,
            "" if durable is None else durable.name,
            start,
            keep=durable is not None,
            then=lambda frame, then: self._on_held(subscription, frame, then),
            now=now,
        )

    def _on_held(self, subscription: Subscription, frame: Held, now: Instant) -> None:
        if not self._is_open(subscription):
            return
        durable = subscription.durable
        if frame.other_host:
            assert durable is not None
            subscription.refuse(
                "other_host",
                f"durable {durable.name!r} belongs to {frame.other_host}: connect there",
            )
            self._end(subscription, is_clean=True, now=now)
            if not subscription.resumed:
                self._drop(durable, now)
            return
        tick = frame.tick
        if durable is not None:
            # Never behind the cursor: what was given up there has to be told as a gap.
            tick = min(tick, durable.cursors.get(frame.pubend, tick))
            durable.cursors[frame.pubend] = tick
        self._add_feed(subscription, frame.pubend, tick + 1)
        self._placed(subscription, now)

    def _placed(self, subscription: Subscription, now: Instant) -> None:
        """Once every pubend is held and the name is stored, the client may rely on it."""
        subscription.unplaced -= 1
        if subscription.unplaced:
            return

        def confirm(then: Instant) -> None:
            if not self._is_open(subscription):
                return
            subscription.is_attached = True
            subscription.tell_positions()
            for pubend, feed in subscription.feeds.items():
                self.readings[pubend].add(feed, now=then)

        if subscription.durable is None:
            confirm(now)
        else:
            subscription.durable.save(self._disk, confirm)

    def _on_credit(self, subscription: Subscription, frame: Credit, now: Instant) -> None:
        subscription.credit_messages += frame.messages
        subscription.credit_bytes += frame.size_bytes
        subscription.retry_parked()
        self._proceed_all(subscription, now)

    def _proceed_all(self, subscription: Subscription, now: Instant) -> None:
        for feed in list(subscription.feeds.values()):
            self._proceed(feed, now)

    def _on_ack(self, subscription: Subscription, frame: ClientAck, now: Instant) -> None:
        durable = subscription.durable
        for position in frame.positions:
            feed = subscription.feeds.get(position.pubend)
            if durable is not None and position in subscription.retried:
                del subscription.retried[position]
                self.parking.discard(durable.name, position)
            elif feed is not None:
                feed.acknowledge(position.tick)
        self._proceed_all(subscription, now)
        if durable is None:
            self._send(subscription.port, _acked(subscription, frame.positions))
            return
        self._move_cursors(subscription, durable)
        durable.save(
            self._disk,
            lambda _now: self._send(subscription.port, _acked(subscription, frame.positions)),
        )

    def _on_fail(self, subscription: Subscription, frame: Fail, now: Instant) -> None:
        """The message and all behind it come again, after a while."""
        position = Position(frame.pubend, frame.tick)
        feed = subscription.feeds.get(frame.pubend)
        if position in subscription.retried:
            # It stays where it is.
            del subscription.retried[position]
            return
        if feed is not None and feed.is_unacknowledged(frame.tick):
            feed.attempts.fail(frame.tick, frame.reason, now=now)
            feed.rewind(frame.tick)
            assert feed.attempts.again_at is not None
            self._backing_off[feed] = feed.attempts.again_at
            if subscription.is_attached:
                self.readings[feed.pubend].rewind(feed, now=now)
        # The client waits for this, whatever has come of it: what follows is new.
        subscription.tell_positions()

    def _on_poison(self, feed: Feed, item: StreamItem) -> bool:
        """A message was handed out too often: parks it, or has its subscription ended."""
        subscription = feed.subscription
        durable = subscription.durable
        assert durable is not None
        count, reason = feed.attempts.count(item.tick), feed.attempts.last_reason
        parked = ParkedMessage(
            feed.pubend, item.tick, item.published_ns, count, reason, bytes(item.body)
        )
        if durable.parks and self.parking.park(durable.name, parked):
            return True
        full = " and there is no room to park it" if durable.parks else ""
        said = f" ({reason[:200]})" if reason else ""
        text = (
            f"durable {durable.name!r} stopped at {feed.pubend:016x}:{item.tick}: handed out"
            f" {count} times and never acknowledged{said}{full}: mend the reader and raise"
            " attempts, seek past it, or pass poison='park'"
        )
        self._poisoned.append((subscription, text))
        return False

    def settle(self, *, now: Instant) -> None:
        """Ends what could not be ended while messages were passed on."""
        while self._poisoned:
            subscription, text = self._poisoned.pop()
            if self._is_open(subscription):
                if subscription.durable is not None:
                    subscription.durable.stopped = text
                subscription.refuse("poison", text)
                self._end(subscription, is_clean=False, now=now)

    def _move_cursors(self, subscription: Subscription, durable: Durable) -> bool:
        """Takes cursors to where the feeds are; returns whether any moved."""
        moved = False
        for pubend, feed in subscription.feeds.items():
            cursor = feed.cursor()
            if cursor > durable.cursors.get(pubend, -1):
                durable.cursors[pubend] = cursor
                moved = True
        return moved

    def _fence(self, subscription: Subscription, now: Instant) -> None:
        """Another client takes a durable name over."""
        subscription.refuse("taken_over", "another client has taken this durable subscription over")
        self._end(subscription, is_clean=False, now=now)

    def _end(self, subscription: Subscription, *, is_clean: bool, now: Instant) -> None:
        del self._subscriptions[subscription.port, subscription.number]
        for pubend, feed in subscription.feeds.items():
            self._backing_off.pop(feed, None)
            if subscription.is_attached:
                self.readings[pubend].remove(feed)
        durable = subscription.durable
        if durable is None:
            return
        if self._reader_of.get(durable.name) is subscription:
            del self._reader_of[durable.name]
        self._move_cursors(subscription, durable)
        durable.is_marked = durable.is_marked and not is_clean
        for pubend, feed in subscription.feeds.items():
            # Now it is known exactly; after a clean end nothing counts as handed out.
            handed_stop = max(feed.attempts.again_stop, feed.attempts.handed_stop)
            durable.reserved[pubend] = 0 if is_clean else handed_stop
        durable.unread_since_ns = self._wall_ns(now)
        durable.save(self._disk)

    # Names

    def reader_of(self, durable: str) -> tuple[str, int] | None:
        """Who reads a name, and since when in Unix nanoseconds."""
        reader = self._reader_of.get(durable)
        return None if reader is None else (self._name_of(reader.port), reader.since_ns)

    def forget(self, name: str, *, now: Instant) -> bool:
        """Deletes a durable name, which frees its messages; False if there is none."""
        durable = self.durables.get(name)
        if durable is None:
            return False
        reader = self._reader_of.get(name)
        if reader is not None:
            reader.refuse("forgotten", f"durable {name!r} has been deleted")
            self._end(reader, is_clean=True, now=now)
        self._drop(durable, now)
        return True

    def _drop(self, durable: Durable, now: Instant) -> None:
        """Takes a name that nobody reads off the disk, here and at the pubends."""
        self.durables.pop(durable.name, None)
        self._forgetting.forget(durable.name, list(durable.cursors), now=now)
        self.parking.forget(durable.name)
        durable.delete(self._disk)

    def _forget_expired(self, now: Instant) -> None:
        for name, durable in list(self.durables.items()):
            if not durable.expire_s or name in self._reader_of:
                continue
            if not durable.unread_since_ns:
                # Its reader was there when this broker crashed.
                durable.unread_since_ns = self._wall_ns(now)
                durable.save(self._disk)
            elif self._wall_ns(now) - durable.unread_since_ns >= durable.expire_s * SECOND:
                self.forget(name, now=now)

    def seek(self, name: str, start: Start, *, then: Callable[[bool], None], now: Instant) -> None:
        """Moves a cursor; `then` is told when that is on disk, or that there is no such name."""
        durable = self.durables.get(name)
        if durable is None:
            then(False)
            return
        left = set(durable.cursors)

        def held(frame: Held, at: Instant) -> None:
            left.discard(frame.pubend)
            if self.durables.get(name) is not durable:
                if not left:
                    then(False)
                return
            self._begin_at(durable, frame.pubend, frame.tick, at)
            if not left:
                reader = self._reader_of.get(name)
                if reader is not None and reader.is_attached:
                    reader.tell_positions()
                durable.save(self._disk, lambda _now: then(True))

        if not left:
            durable.save(self._disk, lambda _now: then(True))
        for pubend in sorted(left):
            self._holds.ask(pubend, name, start, keep=True, then=held, now=now)

    def _begin_at(self, durable: Durable, pubend: int, tick: int, now: Instant) -> None:
        """The cursor of one pubend has been moved; who reads it goes on there."""
        durable.cursors[pubend] = tick
        durable.attempts.pop(pubend, None)
        durable.stopped = ""
        reader = self._reader_of.get(durable.name)
        feed = reader.feeds.get(pubend) if reader is not None else None
        if feed is None:
            durable.reserved.pop(pubend, None)
            durable.again.pop(pubend, None)
            return
        feed.attempts.reset()
        feed.restart(tick + 1)
        self._backing_off.pop(feed, None)
        if feed.subscription.is_attached:
            self.readings[pubend].rewind(feed, now=now)

    def retry_parked(self, name: str, position: Position) -> str | None:
        """Hands a parked message to the reader once more; returns why not, as one word."""
        reader, parked = self._reader_of.get(name), self.parking.find(name, position)
        if parked is None:
            return "unknown"
        if reader is None:
            return "unread"
        if position not in reader.retried and parked not in reader.retries:
            reader.retries.append(parked)
            reader.retry_parked()
        return None

    # Pubends

    def pubend_known(self, pubend: int) -> None:
        """The relay of this broker can serve it."""
        if pubend not in self.readings:
            self.readings[pubend] = PubendReading(
                pubend, self.name, self._life, settings=self._settings, ask=self._ask
            )

    def pubend_gone(self, pubend: int, *, now: Instant) -> None:
        """A stream was deleted: who reads it is told, and cursors of it mean nothing any more."""
        for subscription in [s for s in self._subscriptions.values() if pubend in s.pubends]:
            subscription.refuse("unknown_stream", "the stream has been deleted")
            self._end(subscription, is_clean=True, now=now)
        self.readings.pop(pubend, None)
        self._acknowledged.pop(pubend, None)
        for durable in self.durables.values():
            if durable.cursors.pop(pubend, None) is not None:
                durable.reserved.pop(pubend, None)
                durable.again.pop(pubend, None)
                durable.attempts.pop(pubend, None)
                durable.save(self._disk)
        self._forgetting.forget_pubend(pubend)
        self._holds.forget_pubend(pubend)

    def receive_from_relay(self, frame: BrokerFrame, *, now: Instant) -> None:
        """What the relay of this broker says of a pubend."""
        if isinstance(frame, Held):
            self._holds.on_held(frame, now=now)
        else:
            reading = self.readings.get(frame.pubend)  # type: ignore[attr-defined]
            if reading is not None:
                reading.receive(frame, now=now)

    def link_lost(self, pubend: int) -> None:
        """The way to a pubend was interrupted."""
        self.readings[pubend].link_lost()
        self._acknowledged.pop(pubend, None)

    # Time

    def wake(self, *, now: Instant) -> None:
        """Asks again, moves cursors over silence, and tells parents how far they are."""
        for reading in self.readings.values():
            reading.wake(now=now)
        self._holds.wake(now=now)
        self._forgetting.wake(now=now)
        for feed in [feed for feed, at in self._backing_off.items() if at <= now]:
            del self._backing_off[feed]
            self._proceed(feed, now)
        if now >= self._acks_at:
            self._acks_at = now + self._settings.acks_ns
            self._move_idle_cursors()
            self._tell_parents()
            self._forget_expired(now)

    def next_wakeup(self) -> Instant | None:
        """The next of all timers."""
        return earliest(
            self._acks_at if self.durables else None,
            *(reading.next_wakeup() for reading in self.readings.values()),
            self._holds.next_wakeup(),
            self._forgetting.next_wakeup(),
            *self._backing_off.values(),
        )

    def _move_idle_cursors(self) -> None:
        """A cursor moves over silence too, else the log piles up behind a rare filter."""
        for subscription in self._reader_of.values():
            durable = subscription.durable
            if durable is None or not subscription.is_attached:
                continue
            for feed in subscription.feeds.values():
                feed.attempts.renew(feed.position)
            if self._move_cursors(subscription, durable):
                durable.save(self._disk)

    def _tell_parents(self) -> None:
        """The smallest stored cursor of all durable names, read or not."""
        lowest: dict[int, int] = {}
        for durable in self.durables.values():
            for pubend, tick in durable.cursors.items():
                # One that is about to be stored for the first time, or further back, counts too.
                stored = min(tick, durable.saved_cursors.get(pubend, tick))
                lowest[pubend] = min(stored, lowest.get(pubend, stored))
        for pubend in {**self._acknowledged, **lowest}:
            if self._holds.is_open(pubend):
                # A HOLD under way may ask for less than this.
                continue
            tick = lowest.get(pubend, WITHDRAWN)
            if tick != self._acknowledged.get(pubend) and pubend in self.readings:
                self._acknowledged[pubend] = tick
                entry = HostAck(self.name, self._holds.last_serial(pubend), tick)
                self._ask(Ack(pubend=pubend, entries=(entry,)))


def _time_of_day(wall_ns: int) -> str:
    return f"{datetime.fromtimestamp(wall_ns // SECOND, UTC):%H:%M:%SZ}"


def _acked(subscription: Subscription, positions: tuple[Position, ...]) -> Acked:
    return Acked(subscription=subscription.number, positions=positions)
