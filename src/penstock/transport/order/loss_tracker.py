"""Tracks the missing messages of one stream.

Records and digests reveal a missing message; it then blocks delivery, is released, is
declared lost, and is finally resolved. Does not know the buffered messages: `stream` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.kernel.sequence import SEQ
from penstock.trace.fates import MissingOutcome, ReceiverFate
from penstock.transport.facts import Absence, DetectedBy, Loss
from penstock.transport.order.missing import (
    LOST,
    RELEASED,
    GivenUpLog,
    MissingEntry,
    block,
    blocking_at,
    unblock,
)
from penstock.transport.order.wait_policy import WaitPolicy
from penstock.transport.receive.publisher_image import PublisherImage
from penstock.transport.record.matcher import RecordMatch
from penstock.transport.settings import DEFAULT
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.quantise import delta_ns

if TYPE_CHECKING:
    from penstock.transport.order.stream_context import StreamContext
    from penstock.transport.receive.subscriptions import SharedInterest

_GIVEN_UP: Final = ReceiverFate.GIVEN_UP


class LossTracker(ABC):
    """Missing messages of one publisher for one subscription, from `first` on."""

    __slots__ = (
        "_blocking",
        "_context",
        "_delivered_through",
        "_first",
        "_given_up",
        "_image",
        "_undescribed",
        "_wait_policy",
        "missing",
    )

    def __init__(self, context: StreamContext, image: PublisherImage, first: int) -> None:
        self._context: Final = context
        self._image: Final = image
        self._wait_policy: Final = WaitPolicy(image.estimator(context.ordering.estimator))
        self._first: Final = first
        # The highest sequence number delivered.
        self._delivered_through = first - 1
        # All known missing messages, and those that block delivery in ascending order.
        self.missing: Final[dict[int, MissingEntry]] = {}
        self._blocking: Final[list[MissingEntry]] = []
        self._given_up: Final = GivenUpLog()
        # The latest range of sequence numbers that no record describes.
        self._undescribed = range(0)

    @property
    def interest(self) -> SharedInterest:
        """The subscription's interest."""
        return self._context.interest

    def loss_timeout_ns(self) -> Duration:
        """Return the loss timeout of a message sent at the same time as the one that arrived."""
        ordering = self._context.ordering
        if not ordering.loss_share:
            return min(self._wait_policy.loss_timeout_ns(0, DEFAULT), ordering.max_delay_ns)
        return self._wait_policy.loss_timeout_ns(0, ordering)

    @abstractmethod
    def on_timer(self, missing: MissingEntry, now: Instant) -> None:
        """Handle the expiry of a missing message's timer."""

    @abstractmethod
    def _latest_release(self, missing: MissingEntry, now: Instant) -> Instant:
        """Return the latest time until which this entry may block any message."""

    # Detection

    def on_gap(self, frame: Data, extended_seq: int, first: int, now: Instant) -> None:
        """Find the missing messages from `first` to just before `extended_seq`."""
        ordering = self._context.ordering
        gap = extended_seq - first
        described, used = frame.record.count, ordering.record_used
        described = described if described < used else used
        if not described:
            if gap:
                # Without a record, every message in the gap may match.
                sent_before_ns = delta_ns(frame.since_previous_100us)
                self._add_possible(
                    range(first, extended_seq), sent_before_ns, frame.send_ts_us * MICROSECOND, now
                )
            return
        undescribed = self._undescribed
        entries = gap if gap < described else described
        if undescribed and extended_seq - described < undescribed.stop:
            # This record describes messages that no earlier record did.
            entries = min(described, extended_seq - undescribed.start)
            self._undescribed = range(
                undescribed.start, max(undescribed.start, extended_seq - described)
            )
        if gap > described:
            self._undescribed = range(first, extended_seq - described)
        found = self._match_record(frame, extended_seq, entries, now) if entries else False
        if gap > described and ordering.is_cautious and not found:
            oldest_before_ns = delta_ns(frame.record.sent_before_100us(described - 1))
            sent_ns = frame.send_ts_us * MICROSECOND
            self._add_possible(
                range(first, extended_seq - described), oldest_before_ns, sent_ns, now
            )

    def on_late_record(self, frame: Data, extended_seq: int, now: Instant) -> None:
        """Match a late message's record against the messages that no record described so far."""
        undescribed = self._undescribed
        described = min(frame.record.count, self._context.ordering.record_used)
        if (
            described
            and undescribed
            and extended_seq - described < undescribed.stop
            and extended_seq > undescribed.start
        ):
            self._undescribed = range(
                undescribed.start, max(undescribed.start, extended_seq - described)
            )
            self._match_record(
                frame, extended_seq, min(described, extended_seq - undescribed.start), now
            )

    def _match_record(self, frame: Data, extended_seq: int, entries: int, now: Instant) -> bool:
        """Track the missing messages that the record shows; return whether there are any."""
        matches = self._context.match_record(frame, entries)
        if not matches:
            return False
        recent = [match for match in matches if match.offset <= entries]
        return self._add_matches(
            recent, extended_seq, frame.send_ts_us * MICROSECOND, now, "record"
        )

    def _add_matches(
        self,
        matches: Iterable[RecordMatch],
        extended_seq: int,
        sent_ns: Instant,
        now: Instant,
        detected_by: DetectedBy,
    ) -> bool:
        """Track the matches that have not arrived; offsets count back from `extended_seq`.

        Return whether there are any.
        """
        ordering = self._context.ordering
        found = False
        shared_latch_ns: Duration | None = None
        for match in matches:
            missing_seq = extended_seq - match.offset
            if (
                missing_seq < self._first
                or missing_seq in self.missing
                or self._image.contains(missing_seq)
            ):
                continue
            if self._is_resolved(missing_seq):
                continue
            found = True
            if not match.is_certain:
                self._add_possible(
                    range(missing_seq, missing_seq + 1), match.sent_before_ns, sent_ns, now
                )
                continue
            missing = MissingEntry(
                self,
                missing_seq,
                match,
                sent_ns=sent_ns - match.sent_before_ns,
                sent_before_ns=match.sent_before_ns,
                now=now,
            )
            missing.detected_by = detected_by
            latch_ns = self._wait_policy.latch_ns(missing, ordering)
            if ordering.is_single:
                shared_latch_ns = latch_ns if shared_latch_ns is None else shared_latch_ns
                latch_ns = shared_latch_ns
            self._track(missing, latch_ns, now)
        return found

    def _add_possible(
        self, extended_seqs: range, sent_before_ns: Duration, sent_ns: Instant, now: Instant
    ) -> None:
        """Wait for messages that may or may not match; they are never declared lost.

        The latch is that of the last of them, sent `sent_before_ns` before `sent_ns`.
        """
        missing = MissingEntry(
            self,
            extended_seqs.start,
            None,
            sent_ns=sent_ns - sent_before_ns,
            sent_before_ns=sent_before_ns,
            now=now,
        )
        missing.stop = extended_seqs.stop
        if self._advance(missing):
            latch_ns = self._wait_policy.latch_ns(missing, self._context.ordering)
            self._track(missing, latch_ns, now)

    def _advance(self, possible: MissingEntry) -> bool:
        """Advance to the lowest message of the range that is missing; False if there is none."""
        contains = self._image.contains
        # Skip messages older than the duplicate window in one step: the range may be 10⁹ long.
        extended_seq = max(
            possible.extended_seq, self._delivered_through + 1, self._image.oldest_known
        )
        stop = possible.stop
        while extended_seq < stop and contains(extended_seq):
            extended_seq += 1
        possible.extended_seq = extended_seq
        return extended_seq < stop

    def _track(self, missing: MissingEntry, latch_ns: Duration, now: Instant) -> None:
        if not self._make_room(now):
            return
        missing.release_at = min(now + latch_ns, self._latest_release(missing, now))
        if not missing.is_possible:
            ordering = self._context.ordering
            if ordering.loss_share:
                declare_lost_at = now + self._wait_policy.loss_timeout_ns(
                    missing.sent_before_ns, ordering
                )
                missing.declare_lost_at = max(missing.release_at, declare_lost_at)
            else:
                missing.declare_lost_at = missing.release_at
            self._hold_for_repair(missing, now)
            self.missing[missing.extended_seq] = missing
        if missing.release_at <= now or missing.extended_seq <= self._delivered_through:
            self._release(missing, now)
        else:
            block(self._blocking, missing)
            next_at = missing.release_at
            if missing.is_held_for_repair and missing.declare_lost_at is not None:
                next_at = missing.declare_lost_at
            self._context.timers.set(missing, next_at)

    def _hold_for_repair(self, missing: MissingEntry, now: Instant) -> None:
        """Extend the blocking beyond the latch, so that a repair can still arrive in order."""
        hold_ns = self._context.hold_for_repair_ns
        limit = min(now + hold_ns, self._latest_release(missing, now))
        if (
            limit > missing.release_at
            and missing.declare_lost_at is not None
            and limit > missing.declare_lost_at
        ):
            missing.release_at = limit
            missing.is_held_for_repair = True

    def _make_room(self, now: Instant) -> bool:
        """Make room, if necessary by giving up the oldest lost message; False if there is none.

        Only lost messages are given up. A missing message that is not tracked for want of
        room is delivered if it arrives.
        """
        missing_max = self._context.ordering.missing_max
        if len(self._context.timers) >= self._context.timers_max:
            self._context.count("missing_overflow")
            return False
        if len(self.missing) < missing_max and len(self._blocking) < missing_max:
            return True
        self._context.count("missing_overflow")
        oldest = next(iter(self.missing.values()), None)
        if oldest is None or oldest.state is not LOST or len(self._blocking) >= missing_max:
            return False
        self._resolve(oldest, _GIVEN_UP, now)
        return True

    # State changes

    def _declare_lost(self, missing: MissingEntry, now: Instant) -> None:
        """Declare the message lost; later messages may still be held for its repair."""
        missing.state = LOST
        missing.lost_ns = now
        missing.give_up_at = now + self._context.remember_ns
        self._wait_policy.on_loss()
        next_at = missing.release_at if missing.is_held_for_repair else missing.give_up_at
        self._context.timers.set(missing, next_at)
        self._report_loss(missing, now, is_retracted=False)

    def _release(self, missing: MissingEntry, now: Instant) -> None:
        """Stop blocking delivery."""
        unblock(self._blocking, missing)
        missing.is_held_for_repair = False
        if missing.state is LOST:
            self._context.timers.set(missing, max(now, missing.give_up_at))
            return
        missing.state = RELEASED
        if missing.declare_lost_at is None:
            self._context.timers.cancel(missing)
        else:
            self._context.timers.set(missing, max(now, missing.declare_lost_at))

    def _on_arrival(self, missing: MissingEntry, fate: ReceiverFate, now: Instant) -> None:
        self._wait_policy.on_arrival(missing, now)
        self._resolve(missing, fate, now)

    def _resolve(
        self, missing: MissingEntry, fate: MissingOutcome, now: Instant, *, is_repair: bool = False
    ) -> None:
        del self.missing[missing.extended_seq]
        unblock(self._blocking, missing)
        self._context.timers.cancel(missing)
        if fate is _GIVEN_UP:
            self._given_up.add(missing.extended_seq, self._context.ordering.missing_max)
        elif missing.state is LOST and not is_repair:
            # The original arrived, or does not match: nothing was lost.
            self._wait_policy.on_retraction()
            self._report_loss(missing, now, is_retracted=True)
        self._context.deliver(
            Absence(
                self._context.subscription_id,
                self._message_id(missing.extended_seq),
                missing.detected_ns,
                missing.detected_by,
                missing.lost_ns,
                missing.state,
                fate,
                now,
            )
        )

    def _report_loss(self, missing: MissingEntry, now: Instant, *, is_retracted: bool) -> None:
        loss = Loss(
            self._context.subscription_id,
            self._message_id(missing.extended_seq),
            missing.sent_ns,
            missing.detected_ns - missing.sent_before_ns,
            missing.record_match,
            is_retracted,
        )
        self._context.report_loss(loss, now)

    def _is_resolved(self, extended_seq: int) -> bool:
        """Whether its fate is already reported, or it is too old to know."""
        return self._given_up.contains(extended_seq) and extended_seq not in self.missing

    def _advance_possible(self, extended_seq: int, now: Instant) -> None:
        """After an arrival, advance the ranges of possible messages that start with it."""
        for possible in [m for m in blocking_at(self._blocking, extended_seq) if m.is_possible]:
            unblock(self._blocking, possible)
            if self._advance(possible):
                block(self._blocking, possible)
            else:
                self._release(possible, now)

    def _message_id(self, extended_seq: int) -> MessageId:
        return MessageId(self._image.publisher, self._image.epoch, extended_seq & SEQ.mask)
