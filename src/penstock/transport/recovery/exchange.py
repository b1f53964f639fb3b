"""Digests between a publisher and those who want them: asked for, sent, and asked for again.

The publisher's part is `digests`, the subscriber's `watch`. A TRACK that asks for
digests is answered, so that the subscriber learns how far away the publisher is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from penstock.content.tags import Encoder
from penstock.kernel.instant import SECOND, Instant
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.digests import LEASE_NS, DigestMaker, for_one
from penstock.transport.recovery.distances import Distances
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
_JUDGE_NS: Final = SECOND
_WATCHED_MAX: Final = 4_096
# Distances between asking for a lost digest and asking again.
_RETRY: Final = 4
_TOKEN: Final = 0

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
        numbers: Iterator[int],
        send: Callable[[Signal, Instant], bool],
        reveal: Callable[[Digest, Instant], None],
    ) -> None:
        self._me: Final = me
        self._epoch: Final = epoch
        self._network: Final = network
        self._distances: Final = distances
        self._asks: Final = asks
        self._numbers: Final = numbers
        self._send: Final = send
        self._reveal: Final = reveal
        self._maker: Final = DigestMaker(me, epoch, encoder)
        # Publishers heard; those heard longest ago first.
        self._watched: Final[OrderedDict[int, Watched]] = OrderedDict()
        self._judge_at: Instant | None = None

    # What happens.

    def published(self, frame: Data, now: Instant) -> None:
        """A message left here."""
        self._maker.on_sent(frame, now)

    def came(self, frame: Data, now: Instant) -> None:
        """A message came that is for us."""
        if not self._asks:
            return
        watched = self._watched.get(frame.pub)
        if watched is None:
            if len(self._watched) >= _WATCHED_MAX:
                self._stop(self._watched.popitem(last=False)[1], now)
            watched = self._watched[frame.pub] = Watched(frame)
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

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        holes = (w.next_hole_at() for w in self._watched.values() if w.holes)
        times = (self._maker.due_at, self._judge_at, *holes)
        return min((at for at in times if at is not None), default=None)

    # What comes in.

    def _on_digest(self, digest: Digest, now: Instant) -> None:
        watched = self._watched.get(digest.pub)
        if watched is None or watched.epoch != digest.epoch or digest.to not in (None, self._me):
            return
        watched.on_digest(digest, self._retry_ns(digest.pub), now)
        self._reveal(digest, now)

    def _on_track(self, track: Track, now: Instant) -> None:
        if track.pub != self._me:
            return
        if track.wants_digest and not track.is_end:
            self._maker.wanted(now)
        answer = Tracked(
            to=track.subscriber,
            pub=self._me,
            epoch=self._epoch,
            token=track.token,
            echo_ts_us=track.send_ts_us,
            hold_100us=0,
            flow_id=None,
        )
        self._send(answer, now)

    def _on_recall(self, recall: Recall, now: Instant) -> None:
        if (recall.pub, recall.epoch) != (self._me, self._epoch) or recall.flow_id is not None:
            return
        for first, count in recall.ranges:
            for digest in self._maker.again(first, count):
                self._send(for_one(digest, recall.requester), now)

    # Whose digests are wanted.

    def _judge(self, pub: int, watched: Watched, now: Instant) -> None:
        wants = watched.judge()
        if wants and watched.subscription is None:
            watched.subscription = next(self._numbers)
            watched.told_at = None
            self._network.subscribe(watched.subscription, digest_of(pub), now=now)
        elif wants is False:
            self._stop(watched, now)
        told_at = watched.told_at
        if watched.subscription is not None and (told_at is None or now - told_at >= _TELL_NS):
            watched.told_at = now
            self._send(
                Track(
                    subscriber=self._me,
                    pub=pub,
                    token=_TOKEN,
                    send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
                    wants_digest=True,
                ),
                now,
            )

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
