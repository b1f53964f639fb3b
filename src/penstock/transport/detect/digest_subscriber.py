"""Digests where they are wanted: whose, asked for, listened to, and asked for again.

Each publisher that is heard is watched (`watch`). If its records tell too little we
subscribe to its digests, and tell it so until it answers, and then from time to time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CONSTRAINTS_MAX
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant, earliest
from penstock.transport.detect.digest_publisher import Names
from penstock.transport.detect.digest_state import Pending, Room, Watched
from penstock.transport.detect.flow_gaps import ranges_of
from penstock.transport.detect.flow_numbers import LEASE_NS
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.request_timers import backoff
from penstock.wire.frames.control_routing import digest_of
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import Recall
from penstock.wire.frames.track_request import Track
from penstock.wire.limits import EVERY_MESSAGE, RECALL_RANGES_MAX
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

# What a TRACK for digests is called: an endpoint asks for them once.
TOKEN: Final = 0

_TELL_NS: Final = LEASE_NS // 3
_TELL_AGAIN_NS: Final = 2 * SECOND
# Until it answers, twice as long each time.
_TELL_FIRST_NS: Final = 500 * MILLISECOND
_TELL_LAST_NS: Final = 16 * SECOND
_POSTPONED: Final = 50 * MILLISECOND
_JUDGE_NS: Final = 250 * MILLISECOND
# Until it is known whether digests of a new publisher are wanted, and how they begin.
_FIRST_NS: Final = 3 * _JUDGE_NS
_WATCHED_MAX: Final = 4_096
# Digests and messages that are asked for, of all publishers.
_PENDING_MAX: Final = 65_536
# Distances between asking for what was lost and asking again.
_RETRY: Final = 4
# Before it is asked for the first time: at most so many, as if so many had lost it.
_SPREAD: Final = 2.0
_SHARERS: Final = 100
# So that they fit a frame, whatever is in them.
_NAMES_CHARS_MAX: Final = 250


class Listening:
    """One endpoint's; `asks` says whether it asks for digests of messages at all.

    `is_tracked` says of a publisher whether its numbers tell more than digests would.
    """

    def __init__(
        self,
        me: int,
        network: Network[Carried],
        distances: Distances,
        *,
        asks: bool,
        tracks: Callable[[], bool],
        is_tracked: Callable[[int], bool],
        numbers: Iterator[int],
        draw: Callable[[], float],
        send: Callable[[Track | Recall, Instant], bool],
    ) -> None:
        self._me: Final = me
        self._network: Final = network
        self._distances: Final = distances
        self._asks: Final = asks
        # Whether digests are listened to in any case, for the numbers of flows, as of now.
        self._tracks: Final = tracks
        self._is_tracked: Final = is_tracked
        self._numbers: Final = numbers
        self._draw: Final = draw
        self._send: Final = send
        # Publishers heard; those heard longest ago first.
        self._watched: Final[OrderedDict[int, Watched]] = OrderedDict()
        self._room: Final = Room(_PENDING_MAX)
        self._judge_at: Instant | None = None
        # Nothing is to be asked for before; what came meanwhile may have been all there was.
        self._recall_at: Instant | None = None
        # The attributes that each wish is about, and how they are told.
        self._names: Final[dict[int, Names]] = {}
        self._named: Predicate | None = None

    # What is wanted.

    def subscribed(self, wish: int, predicate: Predicate) -> None:
        """One more predicate: digests are to tell of its attributes too."""
        self._names[wish] = names_in(predicate)
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
                watched.tell_at = 0

    # What comes.

    def came(self, frame: Data, now: Instant) -> None:
        """A message for us."""
        watched = self._watched.get(frame.pub)
        if watched is not None:
            self._watched.move_to_end(frame.pub)
            watched.came(frame)
        elif self._asks or self._tracks():
            if len(self._watched) >= _WATCHED_MAX:
                _, forgotten = self._watched.popitem(last=False)
                self._stop(forgotten, now)
                forgotten.holes.clear()
                forgotten.untold.clear()
            watched = self._watched[frame.pub] = Watched(frame, self._room)
            if self._tracks():
                self._listen(frame.pub, watched, now)
            if self._judge_at is None:
                self._judge_at = now + _JUDGE_NS

    def on_digest(self, digest: Digest, now: Instant) -> bool:
        """Whether it is from one whose digests are wanted."""
        watched = self._watched.get(digest.pub)
        if watched is None or watched.epoch != digest.epoch or digest.to not in (None, self._me):
            return False
        if watched.digest is None and digest.to is None and not digest.is_asked_for and self._asks:
            watched.want_before(digest, now)
        # Others lost it too, and what is sent again is for all: each waits a time of its own.
        spread = backoff(_SPREAD, _SHARERS, self._draw())
        watched.on_digest(digest, round(spread * self._distances.of(digest.pub)), now)
        self._expect_recall(watched)
        return True

    def on_answer(self, pub: int, now: Instant) -> None:
        """A publisher knows that its digests are wanted: from time to time is enough."""
        watched = self._watched.get(pub)
        if watched is not None and watched.named == self._named:
            watched.unanswered = 0
            # At first more often: with the answer comes how many others there are by now.
            watched.tell_at = now + min(_TELL_NS, _TELL_AGAIN_NS << watched.answered)
            watched.answered = min(watched.answered + 1, 8)

    def on_untold(self, pub: int, epoch: int, first: int, messages: int, now: Instant) -> None:
        """So many messages of which no record told: what they were is asked of the publisher."""
        watched = self._watched.get(pub)
        if watched is None or watched.epoch != epoch or watched.is_wanted or not self._asks:
            # Digests tell of them.
            return
        if not self._is_tracked(pub):
            # Of a publisher that is new, digests will most often be wanted, and tell it all.
            wait_ns = self._distances.of(pub) + (0 if watched.is_judged else _FIRST_NS)
            watched.untold.add(range(first, first + messages), now + wait_ns)
            self._expect_recall(watched)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Judges and asks."""
        if self._judge_at is not None and now >= self._judge_at:
            self._judge_at = now + _JUDGE_NS
            for pub, watched in self._watched.items():
                self._judge(pub, watched, now)
        if self._recall_at is not None and now >= self._recall_at:
            self._recall_at = None
            for pub, watched in self._watched.items():
                self._recall(pub, watched, watched.holes, None, now)
                self._recall(pub, watched, watched.untold, EVERY_MESSAGE, now)
                self._expect_recall(watched)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return earliest(self._judge_at, self._recall_at)

    def _expect_recall(self, watched: Watched) -> None:
        for pending in (watched.holes, watched.untold):
            if pending:
                self._recall_at = earliest(self._recall_at, pending.next_at())

    def _judge(self, pub: int, watched: Watched, now: Instant) -> None:
        watched.judge()
        wants = self._asks and watched.is_wanted and not self._is_tracked(pub)
        if wants or self._tracks():
            self._listen(pub, watched, now)
        else:
            self._stop(watched, now)
        if not wants:
            # Where all is tracked its numbers tell more, and its digests bring them.
            return
        if now >= watched.tell_at:
            retry_ns = _TELL_FIRST_NS << min(watched.unanswered, 8)
            watched.tell_at = now + min(retry_ns, _TELL_LAST_NS)
            watched.unanswered += 1
            watched.named = self._named
            self._send(self._track(pub, now), now)

    def _track(self, pub: int, now: Instant) -> Track:
        return Track(
            subscriber=self._me,
            pub=pub,
            token=TOKEN,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            wants_digest=True,
            predicate=self._named,
        )

    def _listen(self, pub: int, watched: Watched, now: Instant) -> None:
        """Asks the network for its digests."""
        if watched.subscription is None:
            watched.subscription = next(self._numbers)
            watched.tell_at = 0
            self._network.subscribe(watched.subscription, digest_of(pub), now=now)

    def _stop(self, watched: Watched, now: Instant) -> None:
        if watched.subscription is not None:
            self._network.unsubscribe(watched.subscription, now=now)
            watched.subscription = watched.digest = None
            watched.holes.clear()

    def _recall(
        self, pub: int, watched: Watched, wanted: Pending, flow_id: int | None, now: Instant
    ) -> None:
        numbers = sorted(wanted.due(self._retry_ns(pub), now)) if wanted else ()
        if numbers:
            recall = Recall(
                pub=pub,
                epoch=watched.epoch,
                requester=self._me,
                send_ts_us=stamp_us(now),
                flow_id=flow_id,
                ranges=tuple(ranges_of(numbers))[:RECALL_RANGES_MAX],
            )
            if not self._send(recall, now):
                wanted.postpone(numbers, now + _POSTPONED)

    def _retry_ns(self, pub: int) -> Duration:
        return _RETRY * self._distances.of(pub)


def names_in(predicate: Predicate) -> Names:
    """The attributes that it is about."""
    return frozenset(c.attribute for f in predicate.filters for c in f.constraints)


def _named(names: Names) -> Predicate | None:
    """How a publisher is told which attributes matter; None, for all, if they are too many."""
    if len(names) > CONSTRAINTS_MAX or sum(map(len, names)) > _NAMES_CHARS_MAX:
        return None
    return Predicate([Filter([Constraint(name, Op.EXISTS, None) for name in names])])
