"""Requests publishers to number the messages that match our filters: the subscriber side.

Each publisher that sends us messages gets our filters (TRACK), in batches that fit one frame, and
replies with the flows in which it numbers the matching messages (TRACKED). A TRACK without filters
renews a batch at intervals. A publisher that restarted, or no longer knows the batch, gets the
filters again. `flow_gaps` interprets the numbers; this module does not.
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
# The first renewal is sooner: subscribers often start together, and the reply has the group size.
_RENEW_FIRST_NS: Final = 2 * SECOND
# TRACK is resent until the publisher replies.
_RETRY_MAX_NS: Final = 16 * SECOND
RETRY_BACKOFF: Final = Backoff(first_ns=500 * MILLISECOND, max_ns=_RETRY_MAX_NS, doublings_max=8)
_ATTEMPTS_MAX: Final = 10
_PAUSE_NS: Final = 60 * SECOND
# Space for filters in a frame.
_FILTERS_BYTES_MAX: Final = 1_200


class FilterBatch(NamedTuple):
    """Filters of one interest that fit one frame together."""

    interest_id: int
    predicate: Predicate


class _TrackTimer(NamedTuple):
    """Key of the timer that sends or renews one batch at one publisher."""

    publisher: int
    token: int


@dataclass(slots=True)
class _TrackingState:
    epoch: int
    # By token: how often a batch was sent without a reply.
    unanswered: dict[int, int] = field(default_factory=dict)
    # When sending stopped, because the publisher did not reply; None while sending.
    paused_since: Instant | None = None
    # By token: the group size of each batch whose filters are all numbered.
    accepted: dict[int, int] = field(default_factory=dict)


class FlowTracking:
    """The tracked filters of one endpoint; `needs_tracking` selects the predicates to track."""

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
        # A random start, so that tokens differ from those of an earlier run with the same id.
        self._tokens: Final = count(int(draw() * TOKEN.mask))
        self._batches: Final[dict[int, FilterBatch]] = {}
        # Interests with untracked filters: not to be tracked, or too large for a frame.
        self._untracked: Final[set[int]] = set()
        self._publishers: Final[BoundedDict[int, _TrackingState]] = BoundedDict(_PUBLISHERS_MAX)
        # TRACK frames sent again without a reply; the publisher may not support tracking.
        self.resent = 0
        self._timers: Final[Timers[_TrackTimer]] = Timers()

    def covers_all_losses(self, publisher: int) -> bool:
        """Whether every loss of this publisher's messages leaves a gap in some flow."""
        state = self._publishers.get(publisher)
        if state is None or self._untracked:
            return False
        return len(state.accepted) == len(self._batches) > 0

    @property
    def has_filters(self) -> bool:
        """Whether there are filters to track."""
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

    # Interests.

    def subscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """Add an interest and, if it needs tracking, send its filters to all known publishers."""
        if not self._needs_tracking(predicate):
            self._untracked.add(interest_id)
            return
        for batch in _split_into_batches(predicate):
            if batch is None:
                self._untracked.add(interest_id)
                continue
            token = 0
            # Token 0 is reserved for digests.
            while not token or token in self._batches:
                token = next(self._tokens) & TOKEN.mask
            self._batches[token] = FilterBatch(interest_id, batch)
            for publisher in self._publishers:
                self._schedule(publisher, token, now)

    def unsubscribed(self, interest_id: int, now: Instant) -> None:
        """Remove an interest and release its flows at all publishers."""
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

    # Input.

    def on_message(self, frame: Data, now: Instant) -> None:
        """Process a message that matched one of our interests."""
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
        """Process the last numbers of flows in a digest."""
        self._flow_gaps.on_last_numbers(digest.pub, digest.epoch, digest.flows, now)

    def on_reply(self, reply: TrackReply, now: Instant) -> None:
        """Process a reply: the flows of a batch, a renewal, or an unknown token."""
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

    # Timers.

    def wake(self, now: Instant) -> None:
        """Send the TRACK frames that are due."""
        for key in self._timers.due(now):
            state = self._publishers[key.publisher]
            attempts = state.unanswered.get(key.token)
            if attempts is None:
                self._send(self._track_request(key.publisher, key.token, now), now)
                # Renews again if no reply arrives by then.
                self._timers.set(key, now + _RETRY_MAX_NS)
                continue
            if attempts >= _ATTEMPTS_MAX:
                # It does not support tracking or is gone: pause until a later message arrives.
                state.paused_since = now
                continue
            self.resent += attempts > 0
            predicate = self._batches[key.token].predicate
            self._send(self._track_request(key.publisher, key.token, now, predicate=predicate), now)
            state.unanswered[key.token] = attempts + 1
            self._timers.set(key, now + RETRY_BACKOFF.wait_ns(attempts))

    def _begin_epoch(self, publisher: int, epoch: int, now: Instant) -> None:
        """Start tracking at a publisher that is new or has restarted."""
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
    """Split the filters into batches that fit a frame; None for each filter that is too large."""
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
