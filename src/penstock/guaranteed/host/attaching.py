"""ATTACH: what is refused, where each pubend goes on, and when the client may rely on it.

A subscription is confirmed when the pubend holds its messages and its name is on disk: what is
published after that is delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.guaranteed.connections import SendToClient
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.attach_refusals import AttachRefusals
from penstock.guaranteed.host.attempts import Attempts
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.durable_names import DurableNames
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.holds import Holds
from penstock.guaranteed.host.rollbacks import Rollbacks
from penstock.guaranteed.host.roster import Roster
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import StreamItem
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import POSITIONS_MAX, STOP_MAX, Start, StartKind
from penstock.wire.frames.guaranteed.client import Credit, CreditKind
from penstock.wire.frames.guaranteed.rows import Held
from penstock.wire.frames.guaranteed.subscription import Attach, AttachFlags, Position


class _Deferred(msgspec.Struct):
    """An ATTACH that waits, and the credit that has come since."""

    frame: Attach
    credits: list[Credit]


class Attaching:
    """Opens subscriptions, at once or when all is known that it takes."""

    def __init__(
        self,
        roster: Roster,
        holds: Holds,
        names: DurableNames,
        *,
        disk: Disk,
        settings: HostSettings,
        pubends_of: Callable[[str], list[int]],
        knows_all_streams: Callable[[], bool],
        send: SendToClient,
        queued_bytes: Callable[[Port], int],
        name_of: Callable[[Port], str],
        wall_ns: Callable[[Instant], int],
        on_poison: Callable[[Feed, StreamItem], bool],
        on_placed: Callable[[Subscription], None],
        rollbacks: Rollbacks,
    ) -> None:
        # Attachments to streams that a parent, which is away, may know.
        self.deferred: Final[dict[tuple[Port, int], _Deferred]] = {}
        self._roster: Final = roster
        self._holds: Final = holds
        self._names: Final = names
        self._disk: Final = disk
        self._settings: Final = settings
        self._pubends_of: Final = pubends_of
        self._knows_all_streams: Final = knows_all_streams
        self._send: Final = send
        self._queued_bytes: Final = queued_bytes
        self._wall_ns: Final = wall_ns
        self._on_poison: Final = on_poison
        self._on_placed: Final = on_placed
        self._rollbacks: Final = rollbacks
        self._refusals: Final = AttachRefusals(
            roster,
            settings=settings,
            pubends_of=pubends_of,
            name_of=name_of,
            stopped=rollbacks.stopped,
        )

    def attach(self, port: Port, frame: Attach, *, now: Instant) -> None:
        """Takes an ATTACH, or keeps it until a parent has said what it knows."""
        is_known = self._knows_all_streams() or all(map(self._pubends_of, frame.streams))
        if frame.durable and self._names.is_moving(frame.durable):
            is_known = False
        if not is_known and len(self.deferred) < self._settings.subscriptions_max:
            self.deferred[port, frame.subscription] = _Deferred(frame, [])
            return
        refused = self._refusals.find(port, frame)
        if refused is not None:
            self._send(port, refused)
            return
        durable = self._roster.durables.get(frame.durable) if frame.durable else None
        resumed = durable is not None
        if durable is not None:
            reader = self._roster.reader_of.get(frame.durable)
            if reader is not None:
                self._fence(reader, now)
            durable.predicate = frame.predicate
        elif frame.durable:
            durable = Durable(frame.durable, streams=frame.streams, predicate=frame.predicate)
            self._roster.durables[frame.durable] = durable
        subscription = Subscription(
            port,
            frame,
            durable=durable,
            resumed=resumed,
            since_ns=self._wall_ns(now),
            send=self._send,
            has_room=lambda: self._queued_bytes(port) < self._settings.client_queue_bytes,
            on_poison=self._on_poison,
        )
        self._roster.subscriptions[port, frame.subscription] = subscription
        was_marked = False
        if durable is not None:
            self._roster.reader_of[durable.name] = subscription
            durable.attempts_max = frame.attempts_max
            durable.parks = bool(frame.flags & AttachFlags.PARK)
            durable.expire_s = frame.expire_s
            durable.unread_since_ns = 0
            was_marked, durable.is_marked = durable.is_marked, True
        self._place(subscription, frame, was_marked=was_marked, now=now)

    def attach_again(self, subscription: Subscription, *, now: Instant) -> None:
        """A pubend is gone and its stream has another: goes on with that one, by itself."""
        # What the client has not heard of yet, it is told again.
        read = {**dict(subscription.frame.positions), **subscription.recreated}
        read |= dict(subscription.positions())
        positions = tuple(Position(*each) for each in read.items())[-POSITIONS_MAX:]
        frame = msgspec.structs.replace(subscription.frame, positions=positions)
        credit = Credit(
            kind=CreditKind.SUBSCRIPTION,
            number=subscription.number,
            messages=max(0, subscription.credit_messages),
            size_bytes=max(0, subscription.credit_bytes),
        )
        self._roster.end(subscription, is_clean=False, now=now)
        self.deferred[subscription.port, subscription.number] = _Deferred(frame, [credit])

    def _place(
        self, subscription: Subscription, frame: Attach, *, was_marked: bool, now: Instant
    ) -> None:
        """Finds where each pubend goes on: as the client says, by the cursor, or by HOLD."""
        own = {position.pubend: position.tick for position in frame.positions}
        durable = subscription.durable
        if durable is not None:
            durable.was_moved = False
        is_resumed = bool(own) or (durable is not None and durable.is_placed)
        subscription.recreated.update(self._read_of_deleted(frame, durable))
        # Against an answer that comes while others are still asked.
        subscription.unplaced = 1
        subscription.pubends = [p for name in frame.streams for p in self._pubends_of(name)]
        for pubend in subscription.pubends:
            tick = own.get(pubend)
            if tick is not None and not self._rollbacks.has_got_to(pubend, tick):
                self._verify(subscription, Position(pubend, tick), was_marked, now)
                continue
            cursor = None if durable is None else durable.cursors.get(pubend)
            if tick is None and cursor is None and is_resumed:
                # Who reads is not new, but the pubend is: nothing of it has been read.
                self._hold(subscription, pubend, Start(StartKind.FIRST), now, read_upto=0)
            elif tick is None and cursor is None:
                self._hold(subscription, pubend, frame.start, now)
            else:
                self._go_on(subscription, pubend, tick, was_marked=was_marked, now=now)
        self._placed(subscription, now)

    def _go_on(
        self,
        subscription: Subscription,
        pubend: int,
        own: int | None,
        *,
        was_marked: bool,
        now: Instant,
    ) -> None:
        """Reads on where the client has read up to, or else at the cursor."""
        durable = subscription.durable
        cursor = None if durable is None else durable.cursors.get(pubend)
        tick = cursor if own is None else own
        assert tick is not None
        # Before the cursor the pubend may have trimmed: a client that goes back, or has not
        # heard of the silence up to there, asks first.
        if durable is None or (cursor is not None and tick >= cursor):
            is_own = own is not None
            self._add_feed(subscription, pubend, tick + 1, is_own=is_own, was_marked=was_marked)
            self._hold_again(subscription, pubend, now)
        else:
            self._hold(subscription, pubend, Start(StartKind.TICK, tick), now, read_upto=tick)
        if own is not None and (cursor is None or own > cursor):
            # Up to the cursor this host has read the same.
            gap = self._rollbacks.gap_behind(pubend, own)
            if gap is not None:
                subscription.lost.append(gap)

    def _verify(
        self, subscription: Subscription, own: Position, was_marked: bool, now: Instant
    ) -> None:
        """A client has read more than this host has heard of: asks the pubend before it counts."""
        pubend, tick = own
        subscription.unplaced += 1

        def on_held(frame: Held, then: Instant) -> None:
            if not self._roster.is_open(subscription):
                return
            if frame.tick >= tick:
                self._go_on(subscription, pubend, tick, was_marked=was_marked, now=then)
                self._placed(subscription, then)
                return
            text = (
                f"pubend {pubend:016x} has not got to tick {tick}, which this client says to have"
                " read: its log was restored, or the position is wrong: subscribe anew"
            )
            subscription.refuse("rolled_back", text)
            self._roster.end(subscription, is_clean=False, now=then)
            if subscription.durable is not None and not subscription.resumed:
                self._names.drop(subscription.durable)

        start = Start(StartKind.TICK, tick)
        self._holds.ask(pubend, "", start, keep=False, then=on_held, now=now)

    def _read_of_deleted(self, frame: Attach, durable: Durable | None) -> dict[int, int]:
        """What was read of pubends that streams had before they were created again."""
        present = {pubend for stream in frame.streams for pubend in self._pubends_of(stream)}
        # A client may come from another host, and know a pubend that this one has yet to hear of;
        # those that names of this host have read are remembered until they are gone.
        read = dict(frame.positions) if self._knows_all_streams() else {}
        read |= {} if durable is None else durable.cursors
        return {pubend: tick for pubend, tick in read.items() if pubend not in present}

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
            durable.reserved[pubend] = max(
                durable.reserved.get(pubend, 0), min(position + ahead, STOP_MAX)
            )
        feed: Feed
        attempts = Attempts(
            durable,
            pubend,
            disk=self._disk,
            settings=self._settings,
            resume=lambda now: self._roster.proceed(feed, now),
            resume_at=lambda at: self._roster.proceed_at(feed, at),
            again_stop=again_stop,
            handed_stop=position if is_own else 0,
        )
        acknowledged = None
        if is_own:
            # Without a name nobody has noted what the client has dealt with: it says so itself.
            acknowledged = -1 if durable is None else min(durable.cursors[pubend], position - 1)
        feed = Feed(subscription, pubend, position, attempts=attempts, acknowledged=acknowledged)
        subscription.feeds[pubend] = feed

    def _hold(
        self,
        subscription: Subscription,
        pubend: int,
        start: Start,
        now: Instant,
        *,
        read_upto: int | None = None,
    ) -> None:
        """Asks a pubend to hold what follows `start`; `read_upto` is None for a new reader."""
        durable = subscription.durable
        subscription.unplaced += 1
        self._holds.ask(
            pubend,
            "" if durable is None else durable.name,
            start,
            keep=durable is not None,
            then=lambda frame, then: self._on_held(subscription, frame, read_upto, then),
            now=now,
        )

    def _hold_again(self, subscription: Subscription, pubend: int, now: Instant) -> None:
        """Has a known name held anew, without waiting: somebody may have had this host forgotten.

        What was trimmed meanwhile is told as a gap; what follows is held.
        """
        durable = subscription.durable
        if durable is None or self._holds.is_asked(pubend, durable.name):
            return

        def on_held(frame: Held, then: Instant) -> None:
            if frame.other_host and self._roster.is_open(subscription):
                self._refuse_other_host(subscription, durable, frame.other_host, then)

        start = Start(StartKind.TICK, durable.cursors[pubend])
        self._holds.ask(pubend, durable.name, start, keep=True, then=on_held, now=now)

    def _refuse_other_host(
        self, subscription: Subscription, durable: Durable, host: str, now: Instant
    ) -> None:
        text = f"durable {durable.name!r} belongs to {host}: connect there"
        subscription.refuse("other_host", text)
        self._roster.end(subscription, is_clean=True, now=now)

    def _on_held(
        self, subscription: Subscription, frame: Held, read_upto: int | None, now: Instant
    ) -> None:
        durable = subscription.durable
        # Never behind the cursor, or else behind what its client has read: what was given up there
        # has to be told as a gap.
        read_upto = read_upto if durable is None else durable.cursors.get(frame.pubend, read_upto)
        tick = frame.tick if read_upto is None else min(frame.tick, read_upto)
        if not self._roster.is_open(subscription):
            if durable is not None and not frame.other_host:
                # Its pubend holds the name, although nobody waits for that any more.
                durable.cursors.setdefault(frame.pubend, tick)
            return
        if frame.other_host:
            assert durable is not None
            self._refuse_other_host(subscription, durable, frame.other_host, now)
            if not subscription.resumed:
                self._names.drop(durable)
            return
        if durable is not None:
            durable.cursors[frame.pubend] = tick
        self._add_feed(subscription, frame.pubend, tick + 1)
        self._placed(subscription, now)

    def _placed(self, subscription: Subscription, now: Instant) -> None:
        """Once every pubend is held and the name is stored, the client may rely on it."""
        subscription.unplaced -= 1
        if subscription.unplaced:
            return

        def confirm(then: Instant) -> None:
            if not self._roster.is_open(subscription):
                return
            subscription.is_attached = True
            subscription.tell_positions()
            subscription.tell_recreated()
            for gap in subscription.lost:
                subscription.tell_gap(subscription.feeds[gap.pubend], gap)
            for pubend, feed in list(subscription.feeds.items()):
                self._roster.readings[pubend].add(feed, now=then)
            self._on_placed(subscription)

        if subscription.durable is None:
            confirm(now)
        else:
            subscription.durable.is_placed = True
            subscription.durable.save(self._disk, confirm)

    def _fence(self, subscription: Subscription, now: Instant) -> None:
        """Another client takes a durable name over."""
        text = (
            f"another client has taken durable {subscription.frame.durable!r} over:"
            " end that one, or pass takeover=True"
        )
        subscription.refuse("taken_over", text)
        self._roster.end(subscription, is_clean=False, now=now)
