"""Which filters publishers are told, and by which flows they number them: the subscriber's part.

Each publisher that is heard is told our filters (TRACK), as many at a time as a frame
has room for, and says by which flows it numbers what they match (TRACKED). From time to
time it is told, without the filters, that they still hold. One that has restarted, or
has forgotten, is told them again. What the numbers tell is the business of `holes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

from penstock.content.filter import Filter, Predicate
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.retry import Backoff
from penstock.kernel.sequence import EPOCH, TOKEN
from penstock.kernel.timers import Timers
from penstock.transport.detect.flow_gaps import FlowGapDetector
from penstock.transport.detect.flow_numbers import LEASE_NS, tracked_flow_tags
from penstock.transport.statistics import TrackingStatistics
from penstock.wire.codec.filter import write_predicate
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

_PUBLISHERS_MAX: Final = 4_096
_RENEW_NS: Final = LEASE_NS // 3
# Sooner for the first time: by then it is known how many share it, for all begin at once.
_RENEW_FIRST_NS: Final = 2 * SECOND
# Until a publisher answers it is told again.
_RETRY_MAX_NS: Final = 16 * SECOND
RETRY_BACKOFF: Final = Backoff(first_ns=500 * MILLISECOND, max_ns=_RETRY_MAX_NS, doublings_max=8)
_ATTEMPTS_MAX: Final = 10
_PAUSE_NS: Final = 60 * SECOND
# What is left of a frame for filters.
_FILTERS_BYTES_MAX: Final = 1_200


class FilterBatch(NamedTuple):
    """As many filters of a wish as one frame has room for."""

    interest_id: int
    predicate: Predicate


class _TrackTimer(NamedTuple):
    """When a publisher is to be told a part, or that it still holds."""

    publisher: int
    token: int


@dataclass(slots=True)
class _TrackingState:
    epoch: int
    # Of each part: how often it was told without an answer.
    unanswered: dict[int, int] = field(default_factory=dict)
    # Since when it is told nothing any more, for it has never answered.
    paused_since: Instant | None = None
    # Those whose filters are all numbered, and how many share them.
    accepted: dict[int, int] = field(default_factory=dict)


class FlowTracking:
    """One endpoint's; `wants` says which predicates are to be tracked."""

    def __init__(
        self,
        endpoint_id: int,
        flow_gaps: FlowGapDetector,
        *,
        draw: Callable[[], float],
        send: Callable[[TrackRequest, Instant], bool],
        needs_tracking: Callable[[Predicate], bool] = lambda _predicate: True,
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._flow_gaps: Final = flow_gaps
        self._send: Final = send
        self._needs_tracking: Final = needs_tracking
        # Not those of an endpoint of the same name that was here before.
        self._tokens: Final = count(int(draw() * TOKEN.mask))
        self._batches: Final[dict[int, FilterBatch]] = {}
        # Wishes of which not all is tracked: it need not be, or no frame has room for it.
        self._untracked: Final[set[int]] = set()
        self._publishers: Final[BoundedDict[int, _TrackingState]] = BoundedDict(_PUBLISHERS_MAX)
        # How often a publisher had to be told again: it may know nothing of this.
        self.resent = 0
        self._timers: Final[Timers[_TrackTimer]] = Timers()

    def covers_all_losses(self, publisher: int) -> bool:
        """Whether every loss of this publisher leaves a hole."""
        state = self._publishers.get(publisher)
        if state is None or self._untracked:
            return False
        return len(state.accepted) == len(self._batches) > 0

    @property
    def has_filters(self) -> bool:
        """Whether anything is to be tracked."""
        return bool(self._batches)

    def statistics(self) -> TrackingStatistics:
        """The size of everything bounded here."""
        return TrackingStatistics(
            publishers=len(self._publishers),
            batches=len(self._batches),
            timers=len(self._timers),
        )

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    # What is wanted.

    def subscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """One more predicate, which all publishers heard are told, if it is to be tracked."""
        if not self._needs_tracking(predicate):
            self._untracked.add(interest_id)
            return
        for batch in _split_into_batches(predicate):
            if batch is None:
                self._untracked.add(interest_id)
                continue
            token = 0
            # Nothing is called 0: that stands for digests.
            while not token or token in self._batches:
                token = next(self._tokens) & TOKEN.mask
            self._batches[token] = FilterBatch(interest_id, batch)
            for publisher in self._publishers:
                self._schedule(publisher, token, now)

    def unsubscribed(self, interest_id: int, now: Instant) -> None:
        """Its numbers mean nothing any more."""
        self._untracked.discard(interest_id)
        for token in [
            token for token, batch in self._batches.items() if batch.interest_id == interest_id
        ]:
            del self._batches[token]
            for publisher, state in self._publishers.items():
                self._timers.cancel(_TrackTimer(publisher, token))
                state.accepted.pop(token, None)
                state.unanswered.pop(token, None)
                self._send(self._track_request(publisher, token, now, is_end=True), now)
        self._flow_gaps.close_interest(interest_id)

    # What comes.

    def on_message(self, frame: Data, now: Instant) -> None:
        """A message for us."""
        state = self._publishers.get(frame.pub)
        if state is None or state.epoch != frame.epoch:
            self._begin_epoch(frame.pub, frame.epoch, now)
        self._publishers.move_to_end(frame.pub)
        state = self._publishers[frame.pub]
        if state.paused_since is not None and now - state.paused_since >= _PAUSE_NS:
            state.paused_since = None
            for token in state.unanswered:
                self._schedule(frame.pub, token, now)
        if frame.flows:
            self._flow_gaps.on_flow_tags(frame.pub, frame.epoch, tracked_flow_tags(frame), now)

    def on_last_numbers(self, digest: Digest, now: Instant) -> None:
        """The last numbers of its flows."""
        self._flow_gaps.on_last_numbers(digest.pub, digest.epoch, digest.flows, now)

    def on_reply(self, reply: TrackReply, now: Instant) -> None:
        """A publisher says how it numbers a part, or that it must be told it again."""
        publisher, token = reply.pub, reply.token
        state, batch = self._publishers.get(publisher), self._batches.get(token)
        if state is None or batch is None:
            return
        if reply.epoch != state.epoch:
            if EPOCH.is_newer(reply.epoch, state.epoch):
                self._begin_epoch(publisher, reply.epoch, now)
            return
        if not reply.token_is_known:
            state.accepted.pop(token, None)
            self._schedule(publisher, token, now)
            return
        renew_ns = _RENEW_NS
        if token in state.unanswered and reply.flows:
            renew_ns = _RENEW_FIRST_NS
            if len(reply.flows) != len(batch.predicate.filters):
                return
            del state.unanswered[token]
            if None not in reply.flows:
                state.accepted[token] = reply.group_size
            for start in reply.flows:
                if start is not None:
                    self._flow_gaps.open_flow(publisher, *start, batch.interest_id, now)
        if token in state.accepted:
            state.accepted[token] = reply.group_size
            self._flow_gaps.set_group_size(publisher, max(state.accepted.values()))
        if token not in state.unanswered:
            self._timers.set(_TrackTimer(publisher, token), now + renew_ns)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Tells who is to be told."""
        for key in self._timers.due(now):
            state = self._publishers[key.publisher]
            attempts = state.unanswered.get(key.token)
            if attempts is None:
                self._send(self._track_request(key.publisher, key.token, now), now)
                # Should no answer come, it is asked what it knows.
                self._timers.set(key, now + _RETRY_MAX_NS)
                continue
            if attempts >= _ATTEMPTS_MAX:
                # It knows nothing of this, or is not there: until it is heard again, later.
                state.paused_since = now
                continue
            self.resent += attempts > 0
            predicate = self._batches[key.token].predicate
            self._send(self._track_request(key.publisher, key.token, now, predicate=predicate), now)
            state.unanswered[key.token] = attempts + 1
            self._timers.set(key, now + RETRY_BACKOFF.wait_ns(attempts))

    def _begin_epoch(self, publisher: int, epoch: int, now: Instant) -> None:
        """A publisher is new, or has restarted and knows nothing of us."""
        self._flow_gaps.close_publisher(publisher, now)
        evicted = self._publishers.make_room(publisher)
        if evicted is not None:
            self._flow_gaps.close_publisher(evicted[0], now)
            for token in self._batches:
                self._timers.cancel(_TrackTimer(evicted[0], token))
        self._publishers[publisher] = _TrackingState(epoch)
        self._flow_gaps.open_publisher(publisher, epoch)
        for token in self._batches:
            self._schedule(publisher, token, now)

    def _schedule(self, publisher: int, token: int, now: Instant) -> None:
        self._publishers[publisher].unanswered[token] = 0
        self._timers.set(_TrackTimer(publisher, token), now)

    def _track_request(
        self,
        publisher: int,
        token: int,
        now: Instant,
        *,
        predicate: Predicate | None = None,
        is_end: bool = False,
    ) -> TrackRequest:
        return TrackRequest(
            subscriber=self._endpoint_id,
            pub=publisher,
            token=token,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            is_end=is_end,
            predicate=predicate,
        )


def _split_into_batches(predicate: Predicate) -> Iterator[Predicate | None]:
    """Its filters, as many at a time as a frame has room for; None for one with too many bytes."""
    batch: list[Filter] = []
    used_bytes = 0
    for filter_ in predicate.filters:
        size_bytes = len(write_predicate(Predicate([filter_])))
        if size_bytes > _FILTERS_BYTES_MAX:
            yield None
            continue
        if used_bytes + size_bytes > _FILTERS_BYTES_MAX:
            yield Predicate(batch)
            batch, used_bytes = [], 0
        batch.append(filter_)
        used_bytes += size_bytes
    if batch:
        yield Predicate(batch)
