"""The host of a broker: attaches clients' subscriptions, and keeps the cursors of durable ones.

A subscription is confirmed when the pubend holds its messages and its name is on disk: what is
published after that is delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.durable import KEY, Durable
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.settings import HostSettings
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    WITHDRAWN,
    BrokerFrame,
    ClientFrame,
    Serial,
    Start,
    StartKind,
)
from penstock.wire.frames.guaranteed.client import Credit, Refused, RefusedKind
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck
from penstock.wire.frames.guaranteed.subscription import (
    Acked,
    Attach,
    Attached,
    AttachFlags,
    ClientAck,
    Detach,
    Position,
)


class _Hold(msgspec.Struct):
    """A HOLD that has not been answered."""

    frame: Hold
    again_at: Instant
    subscription: Subscription


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
    ) -> None:
        self.name: Final = name
        self.readings: Final[dict[int, PubendReading]] = {}
        self.durables: Final[dict[str, Durable]] = {
            key.removeprefix(KEY): Durable.restore(key.removeprefix(KEY), value)
            for key, value in stored.items()
            if key.startswith(KEY)
        }
        self._life: Final = life
        self._disk: Final = disk
        self._settings: Final = settings
        self._pubends_of: Final = pubends_of
        self._knows_all_streams: Final = knows_all_streams
        # Attachments to streams that a parent, which is away, may know.
        self._deferred: Final[dict[tuple[Port, int], _Deferred]] = {}
        self._ask: Final = ask
        self._send: Final = send
        self._subscriptions: Final[dict[tuple[Port, int], Subscription]] = {}
        # Who reads a durable name.
        self._reader_of: Final[dict[str, Subscription]] = {}
        # By pubend and serial.
        self._holds: Final[dict[tuple[int, Serial], _Hold]] = {}
        self._hold_numbers: Final[dict[int, int]] = {}
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
                self._on_ack(subscription, frame)
        elif isinstance(frame, Detach):
            subscription = self._subscriptions.get((port, frame.subscription))
            self._deferred.pop((port, frame.subscription), None)
            if subscription is not None:
                self._end(subscription, is_clean=True)

    def client_gone(self, port: Port) -> None:
        """A connection has ended: its subscriptions do, durable ones keep their cursor."""
        for subscription in [s for (p, _), s in self._subscriptions.items() if p == port]:
            self._end(subscription, is_clean=False)
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
        if not self._knows_all_streams() and not all(map(self._pubends_of, frame.streams)):
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
                self._fence(reader)
            durable.predicate = frame.predicate
        elif frame.durable:
            durable = Durable(frame.durable, streams=frame.streams, predicate=frame.predicate)
            self.durables[frame.durable] = durable
        if durable is not None:
            durable.attempts_max = frame.attempts_max
            durable.parks = bool(frame.flags & AttachFlags.PARK)
            durable.expire_s = frame.expire_s
            durable.is_marked = True
        subscription = Subscription(
            port,
            frame.subscription,
            predicate=frame.predicate,
            durable=durable,
            resumed=resumed,
            send=self._send,
        )
        self._subscriptions[port, frame.subscription] = subscription
        if durable is not None:
            self._reader_of[durable.name] = subscription
        self._place(subscription, frame, now)

    def _find_refusal(self, port: Port, frame: Attach) -> Refused | None:
        def refused(reason: str, text: str) -> Refused:
            return Refused(
                kind=RefusedKind.SUBSCRIPTION, number=frame.subscription, reason=reason, text=text
            )

        if (port, frame.subscription) in self._subscriptions:
            return refused("in_use", f"this connection has a subscription {frame.subscription}")
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
        if frame.durable in self._reader_of and not frame.flags & AttachFlags.TAKEOVER:
            return refused(
                "in_use",
                f"durable {frame.durable!r} is being read: end that reader, or pass takeover=True",
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

    def _place(self, subscription: Subscription, frame: Attach, now: Instant) -> None:
        """Finds where each pubend goes on: as the client says, by the cursor, or by HOLD."""
        own = {position.pubend: position.tick for position in frame.positions}
        durable = subscription.durable
        for pubend in [p for stream in frame.streams for p in self._pubends_of(stream)]:
            cursor = None if durable is None else durable.cursors.get(pubend)
            tick = own.get(pubend, cursor)
            # Before the cursor the pubend may have trimmed: a client that goes back, or has not
            # heard of the silence up to there, asks first.
            is_held = durable is None or (cursor is not None and tick is not None and tick >= cursor)
            if tick is not None and is_held:
                subscription.feeds[pubend] = Feed(subscription, pubend, tick + 1)
            else:
                start = frame.start if tick is None else Start(StartKind.TICK, tick)
                self._hold(subscription, pubend, start, now)
        self._confirm_if_placed(subscription, now)

    def _hold(self, subscription: Subscription, pubend: int, start: Start, now: Instant) -> None:
        number = self._hold_numbers[pubend] = self._hold_numbers.get(pubend, 0) + 1
        durable = subscription.durable
        frame = Hold(
            pubend=pubend,
            host=self.name,
            serial=Serial(self._life, number),
            durable="" if durable is None else durable.name,
            start=start,
            keep=durable is not None,
        )
        again_at = now + self._settings.ask_again_ns
        self._holds[pubend, frame.serial] = _Hold(frame, again_at, subscription)
        self._ask(frame)

    def _on_held(self, frame: Held, now: Instant) -> None:
        hold = self._holds.pop((frame.pubend, frame.serial), None)
        if hold is None:
            return
        subscription = hold.subscription
        if self._subscriptions.get((subscription.port, subscription.number)) is not subscription:
            return
        if frame.other_host:
            assert subscription.durable is not None
            name = subscription.durable.name
            self._send(
                subscription.port,
                Refused(
                    kind=RefusedKind.SUBSCRIPTION,
                    number=subscription.number,
                    reason="other_host",
                    text=f"durable {name!r} belongs to {frame.other_host}: connect there",
                ),
            )
            self._end(subscription, is_clean=True)
            if not subscription.resumed:
                self.durables.pop(name, None)
            return
        tick, durable = frame.tick, subscription.durable
        if durable is not None:
            # Never behind the cursor: what was given up there has to be told as a gap.
            tick = min(tick, durable.cursors.get(frame.pubend, tick))
            durable.cursors[frame.pubend] = tick
        subscription.feeds[frame.pubend] = Feed(subscription, frame.pubend, tick + 1)
        self._confirm_if_placed(subscription, now)

    def _confirm_if_placed(self, subscription: Subscription, now: Instant) -> None:
        """Once every pubend is held and the name is stored, the client may rely on it."""
        if any(hold.subscription is subscription for hold in self._holds.values()):
            return

        def confirm(then: Instant) -> None:
            key = (subscription.port, subscription.number)
            if self._subscriptions.get(key) is not subscription:
                return
            subscription.is_attached = True
            self._send(
                subscription.port,
                Attached(
                    subscription=subscription.number,
                    resumed=subscription.resumed,
                    positions=subscription.positions(),
                ),
            )
            for pubend, feed in subscription.feeds.items():
                self.readings[pubend].add(feed, now=then)

        if subscription.durable is None:
            confirm(now)
        else:
            subscription.durable.save(self._disk, confirm)

    def _on_credit(self, subscription: Subscription, frame: Credit, now: Instant) -> None:
        subscription.credit_messages += frame.messages
        subscription.credit_bytes += frame.size_bytes
        if subscription.is_attached:
            for pubend, feed in subscription.feeds.items():
                self.readings[pubend].proceed(feed, now=now)

    def _on_ack(self, subscription: Subscription, frame: ClientAck) -> None:
        for pubend, tick in frame.positions:
            feed = subscription.feeds.get(pubend)
            if feed is not None:
                feed.acknowledge(tick)
        durable = subscription.durable
        if durable is None:
            self._send(subscription.port, _acked(subscription, frame.positions))
            return
        self._move_cursors(subscription, durable)
        durable.save(
            self._disk,
            lambda _now: self._send(subscription.port, _acked(subscription, frame.positions)),
        )

    def _move_cursors(self, subscription: Subscription, durable: Durable) -> bool:
        """Takes cursors to where the feeds are; returns whether any moved."""
        moved = False
        for pubend, feed in subscription.feeds.items():
            cursor = feed.cursor()
            if cursor > durable.cursors.get(pubend, -1):
                durable.cursors[pubend] = cursor
                moved = True
        return moved

    def _fence(self, subscription: Subscription) -> None:
        """Another client takes a durable name over."""
        self._send(
            subscription.port,
            Refused(
                kind=RefusedKind.SUBSCRIPTION,
                number=subscription.number,
                reason="taken_over",
                text="another client has taken this durable subscription over",
            ),
        )
        self._end(subscription, is_clean=False)

    def _end(self, subscription: Subscription, *, is_clean: bool) -> None:
        del self._subscriptions[subscription.port, subscription.number]
        for pubend, feed in subscription.feeds.items():
            if subscription.is_attached:
                self.readings[pubend].remove(feed)
        durable = subscription.durable
        if durable is None:
            return
        if self._reader_of.get(durable.name) is subscription:
            del self._reader_of[durable.name]
        self._move_cursors(subscription, durable)
        durable.is_marked = durable.is_marked and not is_clean
        durable.save(self._disk)

    # Pubends

    def pubend_known(self, pubend: int) -> None:
        """The relay of this broker can serve it."""
        if pubend not in self.readings:
            self.readings[pubend] = PubendReading(
                pubend, self.name, self._life, settings=self._settings, ask=self._ask
            )

    def receive_from_relay(self, frame: BrokerFrame, *, now: Instant) -> None:
        """What the relay of this broker says of a pubend."""
        if isinstance(frame, Held):
            self._on_held(frame, now)
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
        for hold in self._holds.values():
            if hold.again_at <= now:
                hold.again_at = now + self._settings.ask_again_ns
                self._ask(hold.frame)
        if now >= self._acks_at:
            self._acks_at = now + self._settings.acks_ns
            self._move_idle_cursors()
            self._tell_parents()

    def next_wakeup(self) -> Instant | None:
        """The next of all timers."""
        return earliest(
            self._acks_at if self.durables else None,
            *(reading.next_wakeup() for reading in self.readings.values()),
            *(hold.again_at for hold in self._holds.values()),
        )

    def _move_idle_cursors(self) -> None:
        """A cursor moves over silence too, else the log piles up behind a rare filter."""
        for subscription in self._reader_of.values():
            durable = subscription.durable
            if durable is None or not subscription.is_attached:
                continue
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
            if any(key[0] == pubend for key in self._holds):
                # A HOLD under way may ask for less than this.
                continue
            tick = lowest.get(pubend, WITHDRAWN)
            if tick != self._acknowledged.get(pubend) and pubend in self.readings:
                self._acknowledged[pubend] = tick
                serial = Serial(self._life, self._hold_numbers.get(pubend, 0))
                entry = HostAck(self.name, serial, tick)
                self._ask(Ack(pubend=pubend, entries=(entry,)))


def _acked(subscription: Subscription, positions: tuple[Position, ...]) -> Acked:
    return Acked(subscription=subscription.number, positions=positions)
