"""What a publisher and its subscribers say to one another so that losses are found.

Digests: the publisher's part is `digests`, the subscriber's `listening` and `watch`. And
the numbers of flows: the publisher's part is `flows`, the subscriber's `tracking` and
`holes`. Every TRACK is answered, so that the subscriber learns how far away the
publisher is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec.structs import replace

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant, earliest
from penstock.transport.detect.digest_publisher import DigestMaker
from penstock.transport.detect.digest_subscriber import TOKEN, Listening, names_in
from penstock.transport.detect.flow_numbers import Claim, Flows, Sent
from penstock.transport.detect.tracking import Tracking
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.request_timers import hold_down_ns
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import Recall
from penstock.wire.frames.track_reply import Tracked
from penstock.wire.frames.track_request import Track
from penstock.wire.limits import EVERY_MESSAGE

_SHARERS_MAX: Final = (1 << 16) - 1
# Messages that one recall of a flow gets: the rest must be asked for again.
_ANSWERED_MAX: Final = 64
# Messages that one recall may ask about; fewer fit the digests that answer it.
_DESCRIBED_MAX: Final = 2_048

# What endpoints say to one another beside messages, requests and repairs.
Signal: TypeAlias = Digest | Track | Tracked | Recall


class Exchange:
    """One endpoint's; `send` gets frames that leave, `reveal` digests that came.

    `answer` gets what a message was of which only the number in a flow was named, `kept` gives
    a message of ours by its number, `on_sharers` hears how many listen for a publisher's losses.
    """

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
        kept: Callable[[int], Data | None],
        on_sharers: Callable[[int, int], None],
    ) -> None:
        self._me: Final = me
        self._epoch: Final = epoch
        self._distances: Final = distances
        self._send: Final = send
        self._reveal: Final = reveal
        self._answer: Final = answer
        self._kept: Final = kept
        self._on_sharers: Final = on_sharers
        self._tracking: Final = tracking
        self.flows: Final = Flows(tracked_max)
        self._maker: Final = DigestMaker(me, epoch, encoder, self.flows)
        self._listening: Final = Listening(
            me,
            network,
            distances,
            asks=asks,
            tracks=lambda: tracking is not None and tracking.is_needed,
            is_tracked=lambda pub: tracking is not None and tracking.is_tracked(pub),
            numbers=numbers,
            draw=draw,
            send=send,
        )

    # What happens.

    def subscribed(self, wish: int, predicate: Predicate, now: Instant) -> None:
        """One more predicate."""
        self._listening.subscribed(wish, predicate)
        if self._tracking is not None:
            self._tracking.subscribed(wish, predicate, now)

    def unsubscribed(self, wish: int, now: Instant) -> None:
        """One less."""
        self._listening.unsubscribed(wish)
        if self._tracking is not None:
            self._tracking.unsubscribed(wish, now)

    def published(self, frame: Data, now: Instant) -> None:
        """A message left here."""
        if frame.flows:
            self.flows.on_sent(frame, now)
        self._maker.on_sent(frame, now)

    def came(self, frame: Data, now: Instant) -> None:
        """A message came that is for us."""
        if self._tracking is not None:
            self._tracking.heard(frame, now)
        self._listening.came(frame, now)

    def on_untold(self, pub: int, epoch: int, first: int, messages: int, now: Instant) -> None:
        """So many messages did not come here of which no record told."""
        self._listening.on_untold(pub, epoch, first, messages, now)

    def take(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is about something else."""
        if type(frame) is Digest:
            self._on_digest(frame, now)
        elif type(frame) is Track:
            self._on_track(frame, now)
        elif type(frame) is Tracked:
            self._on_tracked(frame, now)
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
        self._listening.wake(now)
        if self._tracking is not None:
            self._tracking.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        tracking = None if self._tracking is None else self._tracking.next_wakeup()
        return earliest(self._maker.due_at, self._listening.next_wakeup(), tracking)

    # What a subscriber hears.

    def _on_digest(self, digest: Digest, now: Instant) -> None:
        if not self._listening.on_digest(digest, now):
            return
        if self._tracking is not None and digest.flows:
            self._tracking.told_last(digest, now)
        if digest.count:
            self._reveal(digest, now)

    def _on_tracked(self, tracked: Tracked, now: Instant) -> None:
        if tracked.to != self._me:
            return
        self._distances.on_echo(tracked.pub, tracked.echo_ts_us, 0, now=now)
        if tracked.token == TOKEN:
            self._listening.on_answer(tracked.pub, now)
            if tracked.sharers:
                self._on_sharers(tracked.pub, tracked.sharers)
        elif self._tracking is not None:
            self._tracking.on_tracked(tracked, now)

    # What a publisher hears.

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
            names = None if track.predicate is None else names_in(track.predicate)
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
        if recall.flow_id is None:
            self._send_again(recall, now)
        elif recall.flow_id == EVERY_MESSAGE:
            self._describe(recall, now)
        else:
            found = chain.from_iterable(
                self.flows.sent_as(recall.flow_id, first, count) for first, count in recall.ranges
            )
            for sent in islice(found, _ANSWERED_MAX):
                self._answer(recall, sent, now)

    def _send_again(self, recall: Recall, now: Instant) -> None:
        """Digests that were lost."""
        hold_ns = hold_down_ns(self._distances.of(recall.requester))
        for first, count in recall.ranges:
            for digest in self._maker.again(first, count, recall.requester, hold_ns, now):
                self._send(digest, now)

    def _describe(self, recall: Recall, now: Instant) -> None:
        """What messages were of which no digest told, as far as they are kept."""
        asked = chain.from_iterable(range(first, first + count) for first, count in recall.ranges)
        frames = filter(None, map(self._kept, islice(asked, _DESCRIBED_MAX)))
        hold_ns = hold_down_ns(self._distances.of(recall.requester))
        for digest in self._maker.describe(frames, recall.requester, hold_ns, now):
            self._send(digest, now)
