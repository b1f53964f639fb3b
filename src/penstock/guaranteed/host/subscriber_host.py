"""The host of a broker: serves clients' subscriptions, and keeps the cursors of durable ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.guaranteed.connections import SendToClient
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.host.attaching import Attaching
from penstock.guaranteed.host.cursor_acks import CursorAcks
from penstock.guaranteed.host.durable import KEY, Durable
from penstock.guaranteed.host.durable_names import DurableNames
from penstock.guaranteed.host.forgetting import Forgetting
from penstock.guaranteed.host.holds import Holds
from penstock.guaranteed.host.parking import Parking
from penstock.guaranteed.host.poisoned_subscriptions import PoisonedSubscriptions
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.host.rollbacks import Rollbacks
from penstock.guaranteed.host.roster import Roster
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.kernel.instant import SECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import TICK_MAX, BrokerFrame, ClientFrame
from penstock.wire.frames.guaranteed.client import Credit
from penstock.wire.frames.guaranteed.hello import Announcement
from penstock.wire.frames.guaranteed.rows import Held
from penstock.wire.frames.guaranteed.subscription import Attach, Detach, Fail, Forget, Position


class SubscriberHost:
    """All subscriptions at one broker."""

    def __init__(
        self,
        name: str,
        life: int,
        *,
        disk: Disk,
        settings: HostSettings,
        congestion: CongestionSettings,
        stored: Mapping[str, bytes],
        pubends_of: Callable[[str], list[int]],
        knows_all_streams: Callable[[], bool],
        ask: Callable[[BrokerFrame], None],
        send: SendToClient,
        queued_bytes: Callable[[Port], int],
        name_of: Callable[[Port], str],
        tell: Callable[[Alarm], None],
        wall_ns: Callable[[Instant], int],
        now: Instant,
    ) -> None:
        self.name: Final = name
        self._life: Final = life
        self._disk: Final = disk
        self._settings: Final = settings
        self._congestion: Final = congestion
        self._ask: Final = ask
        self._tell: Final = tell
        self._pubends_of: Final = pubends_of
        self._send: Final = send
        durables = {
            key.removeprefix(KEY): Durable.restore(key.removeprefix(KEY), value)
            for key, value in stored.items()
            if key.startswith(KEY)
        }
        self._roster: Final = Roster(durables, disk=disk, wall_ns=wall_ns)
        self.readings: Final = self._roster.readings
        self.durables: Final = self._roster.durables
        self._subscriptions: Final = self._roster.subscriptions
        self._holds: Final = Holds(name, life, settings=settings, ask=ask)
        self._forgetting: Final = Forgetting(
            disk,
            self._holds,
            has_pubend=self.readings.__contains__,
            knows_all_pubends=knows_all_streams,
        )
        self._forgetting.restore(stored, durables)
        self.parking: Final = Parking(disk, settings)
        self.parking.restore(stored)
        self._poisoned: Final = PoisonedSubscriptions(self._roster, self.parking, send=send)
        self.names: Final = DurableNames(
            self._roster,
            self._holds,
            self._forgetting,
            self.parking,
            disk=disk,
            pubends_of=pubends_of,
            on_moved=self.streams_changed,
            name_of=name_of,
            wall_ns=wall_ns,
        )
        self._rollbacks: Final = Rollbacks(self._roster, disk=disk, stored=stored, tell=tell)
        self._attaching: Final = Attaching(
            self._roster,
            self._holds,
            self.names,
            disk=disk,
            settings=settings,
            pubends_of=pubends_of,
            knows_all_streams=knows_all_streams,
            send=send,
            queued_bytes=queued_bytes,
            name_of=name_of,
            wall_ns=wall_ns,
            on_poison=self._poisoned.take,
            on_placed=self._on_placed,
            rollbacks=self._rollbacks,
        )
        self._cursor_acks: Final = CursorAcks(name, self._roster, self._holds, disk=disk, ask=ask)
        # Names that were read when the host ended: their readers are given a moment to come back.
        self._left_over: Final = {name: d for name, d in durables.items() if d.is_marked}
        self._gathers_until: Final = now + settings.gather_ns
        self._acks_at: Instant = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is outstanding; a message that failed has to come again."""
        waiting = self._roster.waiting_until.items()
        if self._holds or any(at == feed.attempts.again_at for feed, at in waiting):
            return False
        return all(each.is_idle for each in self.readings.values())

    def table_sizes(self) -> list[tuple[str, int]]:
        """Names and sizes of what grows with subscriptions, for checkers."""
        return [
            ("subscriptions", len(self._subscriptions)),
            ("deferred attachments", len(self._attaching.deferred)),
            ("holds", len(self._holds)),
        ]

    # Clients

    def receive_from_client(self, port: Port, frame: ClientFrame, *, now: Instant) -> None:
        """What a client wants of its subscriptions."""
        if isinstance(frame, Attach):
            self._attaching.attach(port, frame, now=now)
            return
        if isinstance(frame, Credit):
            subscription = self._subscriptions.get((port, frame.number))
            if subscription is not None:
                self._on_credit(subscription, frame, now)
            elif (port, frame.number) in self._attaching.deferred:
                self._attaching.deferred[port, frame.number].credits.append(frame)
        elif isinstance(frame, ClientAck):
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._on_ack(subscription, frame, now)
        elif isinstance(frame, Fail):
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._on_fail(subscription, frame, now)
        elif isinstance(frame, Forget):
            self.names.forget(frame.durable, now=now)
        elif isinstance(frame, Detach):
            self._attaching.deferred.pop((port, frame.subscription), None)
            subscription = self._subscriptions.get((port, frame.subscription))
            if subscription is not None:
                self._roster.end(subscription, is_clean=frame.is_clean, now=now)

    def client_gone(self, port: Port, *, now: Instant) -> None:
        """A connection has ended: its subscriptions do, durable ones keep their cursor."""
        for subscription in [s for (p, _), s in self._subscriptions.items() if p == port]:
            self._roster.end(subscription, is_clean=False, is_lost=True, now=now)
        for key in [key for key in self._attaching.deferred if key[0] == port]:
            del self._attaching.deferred[key]

    def streams_changed(self, *, now: Instant) -> None:
        """A parent has said what it knows: looks again at what waited for that."""
        self._forgetting.wake(now=now)
        waiting = dict(self._attaching.deferred)
        self._attaching.deferred.clear()
        for (port, _), deferred in waiting.items():
            self._attaching.attach(port, deferred.frame, now=now)
            for credit in deferred.credits:
                self.receive_from_client(port, credit, now=now)

    def _on_placed(self, subscription: Subscription) -> None:
        """Whoever was read before a restart need not be waited for any more."""
        if subscription.durable is None:
            return
        if self._left_over.pop(subscription.durable.name, None) is None:
            return
        for pubend, reading in self.readings.items():
            if not any(pubend in durable.cursors for durable in self._left_over.values()):
                reading.stop_gathering()

    def _on_credit(self, subscription: Subscription, frame: Credit, now: Instant) -> None:
        subscription.credit_messages += frame.messages
        subscription.credit_bytes += frame.size_bytes
        subscription.retry_parked()
        self._proceed_all(subscription, now)

    def _proceed_all(self, subscription: Subscription, now: Instant) -> None:
        for feed in list(subscription.feeds.values()):
            self._roster.proceed(feed, now)

    def _on_ack(self, subscription: Subscription, frame: ClientAck, now: Instant) -> None:
        durable = subscription.durable
        for position in frame.positions:
            feed = subscription.feeds.get(position.pubend)
            if feed is not None and position.tick >= feed.position:
                # It was not handed out, or comes again.
                continue
            if durable is not None and position in subscription.retried:
                del subscription.retried[position]
                self.parking.discard(durable.name, position)
            elif feed is not None:
                feed.acknowledge(position.tick)
            is_behind = feed is not None and feed.began_before(position.tick)
            if durable is not None and (is_behind or position.tick == TICK_MAX):
                # The client has dealt with the notice of a re-created stream, or what came behind.
                for old in subscription.recreated:
                    durable.forget_pubend(old)
                    durable.save(self._disk)
                subscription.recreated.clear()
        self._proceed_all(subscription, now)
        if not frame.is_awaited:
            # Stored with the cursors that move over silence: a commit for each would be too many.
            return
        if durable is None:
            self._send(subscription.port, _acked(subscription, frame.positions))
            return
        self._roster.move_cursors(subscription, durable)
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
        # No message has the tick 0.
        if feed is not None and frame.tick and feed.is_unacknowledged(frame.tick):
            feed.attempts.fail(frame.tick, frame.reason, now=now)
            feed.rewind(frame.tick)
            assert feed.attempts.again_at is not None
            self._roster.proceed_at(feed, feed.attempts.again_at)
            if subscription.is_attached:
                self.readings[feed.pubend].rewind(feed, now=now)
        # The client waits for this, whatever has come of it: what follows is new.
        subscription.tell_positions()

    def settle(self, *, now: Instant) -> None:
        """Ends what could not be ended while messages were passed on."""
        self._poisoned.end_subscriptions(now=now)

    # Pubends

    def pubend_known(self, pubend: int) -> None:
        """The relay of this broker can serve it."""
        if pubend not in self.readings:
            reading = self.readings[pubend] = PubendReading(
                pubend,
                self.name,
                self._life,
                settings=self._settings,
                congestion=self._congestion,
                ask=self._ask,
                gaps=self._rollbacks.gaps,
                tell_open_gap=self._tell_open_gap,
            )
            left_off = [d.cursors[pubend] for d in self._left_over.values() if pubend in d.cursors]
            if left_off:
                reading.gather(self._gathers_until, max(left_off))

    def _tell_open_gap(self, pubend: int, tick: int) -> None:
        after_s = self._settings.gap_alarm_ns // SECOND
        text = (
            f"nobody has told this broker for {after_s} s what was published at"
            f" {Position(pubend, tick)}: is the broker that stores it up?"
        )
        self._tell(Alarm("gap_open", text))

    def announced(self, announcement: Announcement, *, now: Instant) -> None:
        """What HELLO says of a pubend, before anything else of its new life."""
        self._rollbacks.announced(announcement, now=now)

    def pubend_gone(self, pubend: int, *, now: Instant) -> None:
        """A stream was deleted: who reads it is told, or goes on if there is another by its name.

        Cursors stay, so that whoever comes later is told too.
        """
        for subscription in [s for s in self._subscriptions.values() if pubend in s.pubends]:
            names = subscription.frame.streams
            gone = [name for name in names if not set(self._pubends_of(name)) - {pubend}]
            if not gone:
                self._attaching.attach_again(subscription, now=now)
            else:
                text = f"stream {gone[0]!r} has been deleted: create it, or read another one"
                subscription.refuse("unknown_stream", text)
                self._roster.end(subscription, is_clean=True, now=now)
        self.readings.pop(pubend, None)
        self._cursor_acks.forget(pubend)
        self.names.pubend_gone(pubend)
        self._rollbacks.forget(pubend)
        self._forgetting.forget_pubend(pubend)
        self._holds.forget_pubend(pubend)

    def receive_from_relay(self, frame: BrokerFrame | Run, *, now: Instant) -> None:
        """What the relay of this broker says of a pubend."""
        if isinstance(frame, Held):
            self._holds.on_held(frame, now=now)
        else:
            pubend: int = frame.pubend  # type: ignore[union-attr]
            reading = self.readings.get(pubend)
            if reading is not None and pubend not in self._rollbacks.stopped:
                reading.receive(frame, now=now)

    def link_lost(self, pubend: int) -> None:
        """The way to a pubend was interrupted."""
        self.readings[pubend].link_lost()
        self._cursor_acks.forget(pubend)

    # Time

    def wake(self, *, now: Instant) -> None:
        """Asks again, moves cursors over silence, and tells parents how far they are."""
        for reading in self.readings.values():
            reading.wake(now=now)
        self._holds.wake(now=now)
        self._forgetting.wake(now=now)
        for feed in [feed for feed, at in self._roster.waiting_until.items() if at <= now]:
            del self._roster.waiting_until[feed]
            self._roster.proceed(feed, now)
        if now >= self._acks_at:
            self._acks_at = now + self._settings.acks_ns
            self._cursor_acks.move_idle_cursors()
            self._cursor_acks.tell_parents()
            self.names.forget_expired(now=now)
            for pubend in list(self._rollbacks.stopped):
                self._rollbacks.recheck(pubend)

    @property
    def _has_to_tell(self) -> bool:
        """Whether there are cursors that may move, or parents that must hear of them."""
        return bool(self.durables or self._rollbacks.stopped or self._cursor_acks.has_untold)

    def next_wakeup(self) -> Instant | None:
        """The next of all timers."""
        return earliest(
            self._acks_at if self._has_to_tell else None,
            *(reading.next_wakeup() for reading in self.readings.values()),
            self._holds.next_wakeup(),
            self._forgetting.next_wakeup(),
            *self._roster.waiting_until.values(),
        )


def _acked(subscription: Subscription, positions: tuple[Position, ...]) -> Acked:
    return Acked(subscription=subscription.number, positions=positions)
