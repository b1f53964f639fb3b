"""Orders the messages of one publisher for one subscription.

A message in sequence is delivered at once. The record of a message that follows a gap
shows which of the skipped messages match the subscription:

1. A message that does not match is not waited for.
2. A message that matches and has not arrived is missing. It blocks later messages until
   its latch expires ("released"), which is long enough for most messages that do arrive.
   A message that only may match blocks too, but is never declared lost.
3. It is declared lost much later, when it can hardly arrive any more [F12]: an expired
   latch proves little, because most messages that miss their latch are only slow.
4. If it arrives, it is delivered: in order while later messages still wait, otherwise
   late or not at all, as the subscription is configured. Its loss is retracted [F10].

Buffered messages are delivered in order as soon as nothing before them blocks. No message
waits longer than `max_delay_ns`, and all state is bounded.

Does not know duplicates, epochs or other publishers: see `receive.publisher_image`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import AT_CLOSE, MissingState, ReceiverFate
from penstock.transport.facts import Delivery
from penstock.transport.order.late_message import late_fate
from penstock.transport.order.loss_tracker import LossTracker
from penstock.transport.order.missing import (
    LOST,
    RELEASED,
    MissingEntry,
)
from penstock.transport.order.reorder_buffer import BufferedMessage, ReorderBuffer
from penstock.transport.receive.publisher_image import PublisherImage
from penstock.transport.record.matcher import RecordMatch
from penstock.transport.statistics import StreamStatistics
from penstock.wire.frames.data import Data

if TYPE_CHECKING:
    from penstock.transport.order.stream_context import StreamContext

_DELIVERED: Final = ReceiverFate.DELIVERED
_DELIVERED_LATE: Final = ReceiverFate.DELIVERED_LATE
_REPAIRED: Final = ReceiverFate.REPAIRED
_GIVEN_UP: Final = ReceiverFate.GIVEN_UP
_IRRELEVANT: Final = MissingState.IRRELEVANT


class OrderedStream(LossTracker):
    """Takes messages and passes `Delivery` and `Absence` facts to the subscription's context."""

    __slots__ = ("_buffer", "_highest")

    def __init__(self, context: StreamContext, image: PublisherImage, first: int) -> None:
        super().__init__(context, image, first)
        # The highest sequence number received for this subscription.
        self._highest = first - 1
        self._buffer: Final = ReorderBuffer()

    # Input

    def on_message(self, frame: Data, extended_seq: int, now: Instant) -> None:
        """Take a matching message that arrives for the first time."""
        self._wait_policy.received += 1
        if self._is_resolved(extended_seq):
            # This can happen above `_highest` too: a digest may reveal a message long before it
            # arrives.
            self._context.count("after_end")
            return
        if self.missing and extended_seq > self._highest and extended_seq in self.missing:
            # A digest revealed it before it arrived.
            self._on_arrival(self.missing[extended_seq], _DELIVERED, now)
        if extended_seq == self._highest + 1 and not self._buffer.messages:
            self._highest = self._delivered_through = extended_seq
            self._deliver(frame, now, now, None, _DELIVERED)
        elif extended_seq > self._highest:
            first, self._highest = self._highest + 1, extended_seq
            self.on_gap(frame, extended_seq, first, now)
            if self._blocking or self._buffer.messages:
                self._buffer_message(frame, extended_seq, now)
                self._deliver_ready(now)
            else:
                self._delivered_through = extended_seq
                self._deliver(frame, now, now, None, _DELIVERED)
        else:
            self._deliver_late(frame, extended_seq, now)

    def on_unordered(self, frame: Data, extended_seq: int, now: Instant) -> None:
        """Take a message while ordering is off; a later `reconfigure` may turn it on again."""
        if self._is_resolved(extended_seq):
            self._context.count("after_end")
        elif extended_seq in self.missing:
            self._deliver_late(frame, extended_seq, now)
        else:
            self._highest = self._delivered_through = max(self._highest, extended_seq)
            self._deliver(frame, now, now, None, _DELIVERED)

    def on_repair(self, frame: Data, extended_seq: int, now: Instant) -> None:
        """Take a repair from a peer's cache: it is no delay sample and carries no record."""
        if self._is_resolved(extended_seq):
            self._context.count("after_end")
            return
        ordering, missing = self._context.ordering, self.missing.get(extended_seq)
        is_late = extended_seq <= self._delivered_through
        # Without ordering, only messages that were missing before it was turned off can be late.
        is_ordered = ordering.latch is not None or missing is not None
        fate = late_fate(ordering, _REPAIRED) if is_late and is_ordered else _REPAIRED
        if missing is not None:
            self._resolve(missing, fate, now, is_repair=True)
        if is_late:
            self._deliver(frame, now, now, None, fate)
        else:
            if extended_seq > self._highest:
                self._undescribed = range(self._highest + 1, extended_seq)
                self._highest = extended_seq
            self._buffer_message(frame, extended_seq, now, fate)
        if self._blocking:
            self._advance_possible(extended_seq, now)
        self._deliver_ready(now)

    def on_digest(
        self, matches: Iterable[RecordMatch], extended_seq: int, sent_ns: Instant, now: Instant
    ) -> None:
        """Track the matches of a digest sent at `sent_ns`; offsets count from `extended_seq`."""
        self._add_matches(matches, extended_seq, sent_ns, now, "digest")

    def give_up(self, extended_seq: int, now: Instant) -> None:
        """Give up a lost message that no peer could repair."""
        missing = self.missing.get(extended_seq)
        if missing is not None and missing.state is LOST:
            self._resolve(missing, _GIVEN_UP, now)
            self._deliver_ready(now)

    def on_irrelevant(self, extended_seq: int, now: Instant) -> None:
        """Stop waiting for a message that turned out not to match."""
        missing = self.missing.get(extended_seq)
        if missing is not None:
            self._resolve(missing, _IRRELEVANT, now)
            self._deliver_ready(now)

    def on_timer(self, missing: MissingEntry, now: Instant) -> None:
        """Release, declare lost or give up a missing message whose timer expired."""
        if missing.state is LOST:
            if missing.is_held_for_repair:
                self._release(missing, now)
                self._deliver_ready(now)
            else:
                self._resolve(missing, _GIVEN_UP, now)
        elif missing.state is RELEASED or missing.is_held_for_repair:
            self._declare_lost(missing, now)
        else:
            self._release(missing, now)
            self._deliver_ready(now)

    def reconfigure(self, now: Instant) -> None:
        """Apply changed settings: shorten the waits that exceed the new maximum delay."""
        ordering = self._context.ordering
        self._wait_policy.estimator = self._image.estimator(ordering.estimator)
        for missing in self._blocking:
            limit = self._latest_release(missing, now)
            if limit < missing.release_at:
                missing.release_at = limit
                missing.is_held_for_repair &= missing.state is LOST
                self._context.timers.set(missing, limit)

    def stop_ordering(self, now: Instant) -> None:
        """Deliver the buffer in order and stop waiting; missing messages may still arrive."""
        for missing in list(self._blocking):
            self._release(missing, now)
        self._deliver_ready(now)
        self._undescribed = range(0)

    def close(self, now: Instant) -> None:
        """Deliver the buffer in order and resolve all missing messages."""
        for missing in list(self.missing.values()):
            self._resolve(missing, AT_CLOSE[missing.state], now)
        self.stop_ordering(now)

    def statistics(self) -> StreamStatistics:
        """The size of everything bounded here."""
        return StreamStatistics(
            subscription_id=self._context.subscription_id,
            buffered=len(self._buffer),
            missing=tuple(self.missing),
            lost=tuple(
                [
                    self._message_id(extended_seq)
                    for extended_seq, missing in self.missing.items()
                    if missing.state is LOST
                ]
            ),
            possible=sum(missing.is_possible for missing in self._blocking),
            given_up=len(self._given_up),
        )

    # Buffering and delivery

    def _deliver_late(self, frame: Data, extended_seq: int, now: Instant) -> None:
        """Take a message that arrives after one with a higher sequence number."""
        missing = self.missing.get(extended_seq)
        is_late = extended_seq <= self._delivered_through
        fate = late_fate(self._context.ordering, _DELIVERED_LATE) if is_late else _DELIVERED
        if missing is not None:
            self._on_arrival(missing, fate, now)
        if is_late:
            self._deliver(frame, now, now, None, fate)
        else:
            self._buffer_message(frame, extended_seq, now)
        if self._blocking:
            self._advance_possible(extended_seq, now)
        self._deliver_ready(now)
        self.on_late_record(frame, extended_seq, now)

    def _buffer_message(
        self, frame: Data, extended_seq: int, now: Instant, fate: ReceiverFate = _DELIVERED
    ) -> None:
        latch_ns = self._blocking[-1].release_at - now if self._blocking else 0
        buffer = self._buffer
        buffer.add(BufferedMessage(extended_seq, frame, now, latch_ns, fate))
        if len(buffer.messages) > self._context.ordering.held_max:
            self._context.count("held_overflow")
            while self._blocking and self._blocking[0].extended_seq < buffer.lowest_seq:
                self._release(self._blocking[0], now)

    def _deliver_ready(self, now: Instant) -> None:
        """Deliver, in order, the buffered messages that nothing blocks."""
        if not self._buffer.messages:
            return
        for buffered in self._buffer.take_below(
            self._blocking[0].extended_seq if self._blocking else None
        ):
            self._delivered_through = buffered.extended_seq
            latch_ns = buffered.latch_ns if now > buffered.arrived_ns else None
            self._deliver(buffered.frame, buffered.arrived_ns, now, latch_ns, buffered.fate)

    def _latest_release(self, missing: MissingEntry, now: Instant) -> Instant:
        """Return the latest time until which this entry may block any message."""
        first_arrival_ns = self._buffer.first_arrival_above(missing.extended_seq)
        limit_ns = (
            now if first_arrival_ns is None else first_arrival_ns
        ) + self._context.ordering.max_delay_ns
        return max(now, limit_ns)

    def _deliver(
        self,
        frame: Data,
        arrived_ns: Instant,
        now: Instant,
        latch_ns: Duration | None,
        fate: ReceiverFate,
    ) -> None:
        context = self._context
        context.deliver(Delivery(context.subscription_id, frame, arrived_ns, now, latch_ns, fate))
