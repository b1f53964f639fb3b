"""The order of one publisher's messages on their way to one subscription.

A message that follows the one before it is handed over at once. One that leaves
a gap says by its record which of the numbers between would have been for us:

1. What the record shows not to match is nothing to wait for.
2. What matches, and has not come, is missing. While it is, later messages wait,
   until a latch is over ("released") that is long enough for most that do come.
   What only may match is waited for as well, but never called lost.
3. Much later, when it hardly can come any more, it is lost [F12]: a latch that is
   over says little, for most messages that miss theirs were only slow.
4. Whenever it comes, it is handed over: in order if what follows still waits,
   else late, as the subscription likes. A loss is then taken back [F10].

Held messages are handed over in order as soon as nothing before them blocks. No
message waits longer than `max_delay_ns`, and there is a bound on everything that
is held or remembered.

Knows nothing of duplicates, epochs or other publishers: see `arrivals`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import AT_CLOSE, MissingState, ReceiverFate
from penstock.transport.facts import Receipt
from penstock.transport.order.gap_tracker import Gaps
from penstock.transport.order.missing import (
    LOST,
    RELEASED,
    Missing,
)
from penstock.transport.order.reorder_buffer import Held, Waiting
from penstock.transport.receive.publisher_image import Arrivals
from penstock.transport.record.matcher import Glimpse
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.serial import SEQ_BITS

if TYPE_CHECKING:
    from penstock.transport.receive.subscriptions import Subscription

_DELIVERED: Final = ReceiverFate.DELIVERED
_DELIVERED_LATE: Final = ReceiverFate.DELIVERED_LATE
_DROPPED_LATE: Final = ReceiverFate.DROPPED_LATE
_REPAIRED: Final = ReceiverFate.REPAIRED
_GIVEN_UP: Final = ReceiverFate.GIVEN_UP
_IRRELEVANT: Final = MissingState.IRRELEVANT
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Stream(Gaps):
    """Messages in, receipts and absences out, by way of the subscription."""

    __slots__ = ("_held", "_highest")

    def __init__(self, subscription: Subscription, arrivals: Arrivals, first: int) -> None:
        super().__init__(subscription, arrivals, first)
        # The highest number that came for us.
        self._highest = first - 1
        self._held: Final = Held()

    # What comes.

    def take(self, frame: Data, number: int, now: Instant) -> None:
        """A message for us, which comes for the first time."""
        self._patience.seen += 1
        if self.missing and number > self._highest and number in self.missing:
            # A digest told of it before it came.
            self._came(self.missing[number], _DELIVERED, now)
        if number == self._highest + 1 and not self._held.waiting:
            self._highest = self._delivered = number
            self._hand_over(frame, now, now, None, _DELIVERED)
        elif number > self._highest:
            first, self._highest = self._highest + 1, number
            self._look_back(frame, number, first, now)
            if self._blocking or self._held.waiting:
                self._hold(frame, number, now)
                self._release(now)
            else:
                self._delivered = number
                self._hand_over(frame, now, now, None, _DELIVERED)
        elif self._is_over(number):
            self._subscription.count("after_end")
        else:
            self._take_late(frame, number, now)

    def take_unordered(self, frame: Data, number: int, now: Instant) -> None:
        """A message for a subscription that has ceased to order, and may begin again."""
        if self._is_over(number):
            self._subscription.count("after_end")
        elif number in self.missing:
            self._take_late(frame, number, now)
        else:
            self._highest = self._delivered = max(self._highest, number)
            self._hand_over(frame, now, now, None, _DELIVERED)

    def take_repair(self, frame: Data, number: int, now: Instant) -> None:
        """A message for us that others had kept: it says nothing of delays, and has no record."""
        if self._is_over(number):
            self._subscription.count("after_end")
            return
        ordering, missing = self._subscription.ordering, self.missing.get(number)
        is_late = number <= self._delivered
        # Where nothing is ordered any more nothing is too late, but what was missed before that.
        is_ordered = ordering.latch is not None or missing is not None
        fate = _DROPPED_LATE if is_late and is_ordered and ordering.late == "drop" else _REPAIRED
        if missing is not None:
            self._end(missing, fate, now, is_repair=True)
        if is_late:
            self._hand_over(frame, now, now, None, fate)
        else:
            if number > self._highest:
                self._uncovered = range(self._highest + 1, number)
                self._highest = number
            self._hold(frame, number, now, fate)
        if self._blocking:
            self._move_up(number, now)
        self._release(now)

    def take_digest(
        self, glimpses: Iterable[Glimpse], number: int, sent_ns: Instant, now: Instant
    ) -> None:
        """What a digest, sent then, tells of the messages before `number`."""
        self._take_up(glimpses, number, sent_ns, now, "digest")

    def give_up(self, number: int, now: Instant) -> None:
        """Nobody could repair it."""
        missing = self.missing.get(number)
        if missing is not None and missing.state is LOST:
            self._end(missing, _GIVEN_UP, now)
            self._release(now)

    def pass_by(self, number: int, now: Instant) -> None:
        """A message that is not for us came: if it was thought missing, it never was."""
        missing = self.missing.get(number)
        if missing is not None:
            self._end(missing, _IRRELEVANT, now)
            self._release(now)

    def ring(self, missing: Missing, now: Instant) -> None:
        """A missing number's time is up."""
        if missing.state is LOST:
            if missing.is_held_for:
                self._let_go(missing, now)
                self._release(now)
            else:
                self._end(missing, _GIVEN_UP, now)
        elif missing.state is RELEASED or missing.is_held_for:
            self._lose(missing, now)
        else:
            self._let_go(missing, now)
            self._release(now)

    def adjust(self, now: Instant) -> None:
        """The subscription's settings changed: nothing waits longer than they now allow."""
        ordering = self._subscription.ordering
        self._patience.estimator = self._arrivals.estimator(ordering.estimator)
        for missing in self._blocking:
            limit = self._latest_release(missing, now)
            if limit < missing.release_at:
                missing.release_at = limit
                missing.is_held_for &= missing.state is LOST
                self._subscription.timers.set(missing, limit)

    def suspend(self, now: Instant) -> None:
        """Hands over what is held, in order; what is missing may come, but is not waited for."""
        for missing in list(self._blocking):
            self._let_go(missing, now)
        self._release(now)
        self._uncovered = range(0)

    def close(self, now: Instant) -> None:
        """Hands over what is held, in order, and gives up what is missing."""
        for missing in list(self.missing.values()):
            self._end(missing, AT_CLOSE[missing.state], now)
        self.suspend(now)

    # What waits, and what goes out.

    def _take_late(self, frame: Data, number: int, now: Instant) -> None:
        """A number below others that came."""
        missing = self.missing.get(number)
        is_late = number <= self._delivered
        drops = is_late and self._subscription.ordering.late == "drop"
        fate = _DROPPED_LATE if drops else _DELIVERED_LATE if is_late else _DELIVERED
        if missing is not None:
            self._came(missing, fate, now)
        if is_late:
            self._hand_over(frame, now, now, None, fate)
        else:
            self._hold(frame, number, now)
        if self._blocking:
            self._move_up(number, now)
        self._release(now)
        self._look_further_back(frame, number, now)

    def _hold(
        self, frame: Data, number: int, now: Instant, fate: ReceiverFate = _DELIVERED
    ) -> None:
        latch_ns = self._blocking[-1].release_at - now if self._blocking else 0
        held = self._held
        held.add(Waiting(number, frame, now, latch_ns, fate))
        if len(held.waiting) > self._subscription.ordering.held_max:
            self._subscription.count("held_overflow")
            while self._blocking and self._blocking[0].number < held.lowest:
                self._let_go(self._blocking[0], now)

    def _release(self, now: Instant) -> None:
        """Hands over, in order, what nothing blocks."""
        if not self._held.waiting:
            return
        for waiting in self._held.take_below(self._blocking[0].number if self._blocking else None):
            self._delivered = waiting.number
            latch_ns = waiting.latch_ns if now > waiting.arrived_ns else None
            self._hand_over(waiting.frame, waiting.arrived_ns, now, latch_ns, waiting.fate)

    def _latest_release(self, missing: Missing, now: Instant) -> Instant:
        """No message that waits for this one, now or later, may wait longer than to then."""
        since = self._held.first_arrival_above(missing.number)
        limit = (now if since is None else since) + self._subscription.ordering.max_delay_ns
        return max(now, limit)

    def _hand_over(
        self,
        frame: Data,
        arrived_ns: Instant,
        now: Instant,
        latch_ns: Duration | None,
        fate: ReceiverFate,
    ) -> None:
        subscription = self._subscription
        subscription.put_out(Receipt(subscription.number, frame, arrived_ns, now, latch_ns, fate))

    def _id(self, number: int) -> MessageId:
        return MessageId(self._arrivals.pub, self._arrivals.epoch, number & _SEQ_MASK)
