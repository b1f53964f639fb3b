"""What a publisher and its subscribers say to one another so that losses are found.

Digests, asked for, sent, and asked for again: the publisher's part is `digests`, the
subscriber's `watch`. And the numbers of flows: the publisher's part is `flows`, the
subscriber's `tracking` and `holes`. Every TRACK is answered, so that the subscriber
learns how far away the publisher is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from msgspec.structs import replace

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CONSTRAINTS_MAX
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.digests import DigestMaker, Names
from penstock.transport.recovery.distances import Distances
from penstock.transport.recovery.flows import LEASE_NS, Claim, Flows, Sent
from penstock.transport.recovery.timers import backoff, hold_down_ns
from penstock.transport.recovery.tracking import Tracking
from penstock.transport.recovery.watch import Watched
from penstock.wire.frames.addresses import digest_of
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.recall import Recall
from penstock.wire.frames.track import Track
from penstock.wire.frames.tracked import Tracked
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

_TELL_NS: Final = LEASE_NS // 3
_JUDGE_NS: Final = 250 * MILLISECOND
_WATCHED_MAX: Final = 4_096
# Distances between asking for a lost digest and asking again.
_RETRY: Final = 4
# Before it is asked for the first time: at most so many, as if so many had lost it.
_SPREAD: Final = 3.0
_SHARERS: Final = 100
_TOKEN: Final = 0
_SHARERS_MAX: Final = (1 << 16) - 1
# So that they fit a frame, whatever is in them.
_NAMES_CHARS_MAX: Final = 250

# What endpoints say to one another beside messages, requests and repairs.
Signal: TypeAlias = Digest | Track | Tracked | Recall


class Exchange:
    """One endpoint's; `send` gets frames that leave, `reveal` digests that came."""

    def __init__(
        self,
        me: int,
        epoch: int,
        encoder: Encoder,
        network: Network[Carried],
        distances: Distances,
        *,
        asks: bool,
        tracking: Tracking | None,
        tracked_max: int,
        numbers: Iterator[int],
        draw: Callable[[], float],
        send: Callable[[Signal, Instant], bool],
        reveal: Callable[[Digest, Instant], None],
        answer: Callable[[Recall, Sent, Instant], None],
        on_sharers: Callable[[int, int], None],
    ) -> None:
        self._me: Final = me
        self._epoch: Final = epoch
        self._network: Final = network
        self._distances: Final = distances
        self._asks: Final = asks
        self._numbers: Final = numbers
        self._draw: Final = draw
        self._send: Final = send
        self._reveal: Final = reveal
        # Gets what a message was, of which only the number in a flow was named.
        self._answer: Final = answer
        # Gets how many listen for the losses of a publisher.
        self._on_sharers: Final = on_sharers
        self._tracking: Final = tracking
        self.flows: Final = Flows(tracked_max)
        self._maker: Final = DigestMaker(me, epoch, encoder, self.flows)
        # Publishers heard; those heard longest ago first.
        self._watched: Final[OrderedDict[int, Watched]] = OrderedDict()
        self._judge_at: Instant | None = None
        # The attributes that each wish is about, and how they are told.
        self._names: Final[dict[int, Names]] = {}
        self._named: Predicate | None = None

    # What happens.

    def subscribed(self, wish: int, predicate: Predicate) -> None:
        """One more predicate: digests are to tell of its attributes too."""
        self._names[wish] = _names_in(predicate)
        self._tell_names()

    def unsubscribed(self, wish: int) -> None:
        """One less."""
        self._names.pop(wish, None)
        self._tell_names()

    def _tell_names(self) -> None:
        """Publishers are told of other names at once."""
        named = _named(frozenset().union(*self._names.values()))
        if named != self._named:
            self._named = named
            for watched in self._watched.values():
                watched.told_at = None

    def published(self, frame: Data, now: Instant) -> None:
        """A message left here."""
        if frame.flows:
            self.flows.on_sent(frame, now)
        self._maker.on_sent(frame, now)

    def came(self, frame: Data, now: Instant) -> None:
        """A message came that is for us."""
        if self._tracking is not None:
            self._tracking.heard(frame, now)
        elif not self._asks:
            return
        watched = self._watched.get(frame.pub)
        if watched is None:
            if len(self._watched) >= _WATCHED_MAX:
                self._stop(self._watched.popitem(last=False)[1], now)
            watched = self._watched[frame.pub] = Watched(frame)
            if self._tracking is not None:
                self._listen(frame.pub, watched, now)
            if self._judge_at is None:
                self._judge_at = now + _JUDGE_NS
        else:
            self._watched.move_to_end(frame.pub)
            watched.came(frame)

    def take(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is not about digests."""
        if type(frame) is Digest:
            self._on_digest(frame, now)
        elif type(frame) is Track:
            self._on_track(frame, now)
        elif type(frame) is Tracked:
            if frame.to == self._me:
                self._distances.on_echo(frame.pub, frame.echo_ts_us, 0, now=now)
                if frame.sharers and frame.token == _TOKEN:
                    self._on_sharers(frame.pub, frame.sharers)
                elif self._tracking is not None:
                    self._tracking.on_tracked(frame, now)
        elif type(frame) is Recall:
            self._on_recall(frame, now)
        else:
            return False
        return True

    def wake(self, now: Instant) -> None:
        """Runs everything that is due."""
        if self._maker.due_at is not None and now >= self._maker.due_at:
            for digest in self._maker.make(now):
                self._send(digest, now)
        if self._judge_at is not None and now >= self._judge_at:
            self._judge_at = now + _JUDGE_NS
            for pub, watched in self._watched.items():
                self._judge(pub, watched, now)
        for pub, watched in self._watched.items():
            if watched.holes:
                self._ask_for_holes(pub, watched, now)
        if self._tracking is not None:
            self._tracking.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        holes = (w.next_hole_at() for w in self._watched.values() if w.holes)
        tracking = None if self._tracking is None else self._tracking.next_wakeup()
        times = (self._maker.due_at, self._judge_at, tracking, *holes)
        return min((at for at in times if at is not None), default=None)

    # What comes in.

    def _on_digest(self, digest: Digest, now: Instant) -> None:
        watched = self._watched.get(digest.pub)
        if watched is None or watched.epoch != digest.epoch or digest.to not in (None, self._me):
            return
        # Others lost it too, and what is sent again is for all: each waits a time of its own.
        spread = backoff(_SPREAD, _SHARERS, self._draw())
        watched.on_digest(digest, round(spread * self._distances.of(digest.pub)), now)
        if self._tracking is not None and digest.flows:
            self._tracking.told_last(digest, now)
        if digest.count:
            self._reveal(digest, now)

    def _on_track(self, track: Track, now: Instant) -> None:
        if track.pub != self._me:
            return
        answer = Tracked(
            to=track.subscriber,
            pub=self._me,
            epoch=self._epoch,
            token=track.token,
            echo_ts_us=track.send_ts_us,
            hold_100us=0,
        )
        if not track.wants_digest:
            answer = self._numbered(track, answer, now)
        elif not track.is_end:
            names = None if track.predicate is None else _names_in(track.predicate)
            sharers = self._maker.wanted(track.subscriber, names, now)
            answer = replace(answer, sharers=min(sharers, _SHARERS_MAX))
        self._send(answer, now)

    def _numbered(self, track: Track, answer: Tracked, now: Instant) -> Tracked:
        """Numbers what is asked for, or no longer."""
        claim = Claim(track.subscriber, track.token)
        if track.is_end:
            self.flows.drop(claim)
            return answer
        if track.predicate is not None:
            flows = tuple(self.flows.claim(claim, track.predicate, now))
            answer = replace(answer, flows=flows)
        elif not self.flows.renew(claim, now):
            return replace(answer, is_known=False)
        self._maker.begin(now)
        return replace(answer, sharers=min(self.flows.sharers(claim), _SHARERS_MAX))

    def _on_recall(self, recall: Recall, now: Instant) -> None:
        if (recall.pub, recall.epoch) != (self._me, self._epoch):
            return
        for first, count in recall.ranges:
            if recall.flow_id is not None:
                for sent in self.flows.sent_as(recall.flow_id, first, count):
                    self._answer(recall, sent, now)
                continue
            hold_ns = hold_down_ns(self._distances.of(recall.requester))
            for digest in self._maker.again(first, count, recall.requester, hold_ns, now):
                self._send(digest, now)

    # Whose digests are wanted.

    def _judge(self, pub: int, watched: Watched, now: Instant) -> None:
        watched.judge()
        if self._tracking is not None and self._tracking.is_tracked(pub):
            # Its numbers tell more, and its digests bring them.
            return
        if not (self._asks and watched.is_wanted):
            if self._tracking is None:
                self._stop(watched, now)
            return
        self._listen(pub, watched, now)
        told_at = watched.told_at
        if told_at is None or now - told_at >= _TELL_NS:
            watched.told_at = now
            self._send(
                Track(
                    subscriber=self._me,
                    pub=pub,
                    token=_TOKEN,
                    send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
                    wants_digest=True,
                    predicate=self._named,
                ),
                now,
            )

    def _listen(self, pub: int, watched: Watched, now: Instant) -> None:
        """Asks the network for its digests."""
        if watched.subscription is None:
            watched.subscription = next(self._numbers)
            watched.told_at = None
            self._network.subscribe(watched.subscription, digest_of(pub), now=now)

    def _stop(self, watched: Watched, now: Instant) -> None:
        if watched.subscription is not None:
            self._network.unsubscribe(watched.subscription, now=now)
            watched.subscription = watched.digest = None
            watched.holes.clear()

    def _ask_for_holes(self, pub: int, watched: Watched, now: Instant) -> None:
        numbers = sorted(watched.due_holes(self._retry_ns(pub), now))
        if numbers:
            self._send(
                Recall(
                    pub=pub,
                    epoch=watched.epoch,
                    requester=self._me,
                    send_ts_us=stamp_us(now),
                    flow_id=None,
                    ranges=tuple((number, 1) for number in numbers),
                ),
                now,
            )

    def _retry_ns(self, pub: int) -> int:
        return _RETRY * self._distances.of(pub)


def _names_in(predicate: Predicate) -> Names:
    """The attributes that it is about."""
    return frozenset(c.attribute for f in predicate.filters for c in f.constraints)


def _named(names: Names) -> Predicate | None:
    """How a publisher is told which attributes matter; None, for all, if they are too many."""
    if len(names) > CONSTRAINTS_MAX or sum(map(len, names)) > _NAMES_CHARS_MAX:
        return None
    return Predicate([Filter([Constraint(name, Op.EXISTS, None) for name in names])])
