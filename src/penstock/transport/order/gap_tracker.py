"""What is not there: the numbers that a subscription should have had, and how they go on.

Told of by records and digests; waited for, released, lost, and then whatever their end
is. Knows nothing of the messages that come: `stream` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.trace.fates import Life, ReceiverFate
from penstock.transport.facts import Absence, FoundBy, Loss
from penstock.transport.order.missing import (
    LOST,
    RELEASED,
    GivenUp,
    Missing,
    block,
    blocking_at,
    unblock,
)
from penstock.transport.order.wait_policy import Patience
from penstock.transport.receive.publisher_image import Arrivals
from penstock.transport.record.matcher import Glimpse
from penstock.transport.settings import DEFAULT
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.quantise import delta_ns
from penstock.wire.serial import SEQ_BITS

if TYPE_CHECKING:
    from penstock.transport.receive.subscriptions import Subscription, Wish

_GIVEN_UP: Final = ReceiverFate.GIVEN_UP
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Gaps(ABC):
    """Of one publisher's messages for one subscription, from number `first` on."""

    __slots__ = (
        "_arrivals",
        "_blocking",
        "_delivered",
        "_first",
        "_given_up",
        "_patience",
        "_subscription",
        "_uncovered",
        "missing",
    )

    def __init__(self, subscription: Subscription, arrivals: Arrivals, first: int) -> None:
        self._subscription: Final = subscription
        self._arrivals: Final = arrivals
        self._patience: Final = Patience(arrivals.estimator(subscription.ordering.estimator))
        self._first: Final = first
        # The highest number that was handed over.
        self._delivered = first - 1
        # Every number known to be missing; and by rising number what others wait for.
        self.missing: Final[dict[int, Missing]] = {}
        self._blocking: Final[list[Missing]] = []
        self._given_up: Final = GivenUp()
        # The last stretch of numbers that no record told of.
        self._uncovered = range(0)

    @property
    def wish(self) -> Wish:
        """What the subscription asks for."""
        return self._subscription.wish

    def loss_wait_ns(self) -> Duration:
        """When one is lost that left at the same time as what came."""
        ordering = self._subscription.ordering
        if not ordering.loss_share:
            return min(self._patience.loss_wait_ns(0, DEFAULT), ordering.max_delay_ns)
        return self._patience.loss_wait_ns(0, ordering)

    @abstractmethod
    def ring(self, missing: Missing, now: Instant) -> None:
        """A missing number's time is up."""

    @abstractmethod
    def _latest_release(self, missing: Missing, now: Instant) -> Instant:
        """No message that waits for this one, now or later, may wait longer than to then."""

    # What is told.

    def _look_back(self, frame: Data, number: int, first: int, now: Instant) -> None:
        """Finds what is missing among the numbers from `first` to just before this one."""
        ordering = self._subscription.ordering
        gap = number - first
        told, used = frame.record.count, ordering.record_used
        told = told if told < used else used
        if not told:
            if gap:
                # Nothing is told: all of it is assumed to be for us.
                gap_ns = delta_ns(frame.prev_delta_100us)
                self._assume(range(first, number), gap_ns, frame.send_ts_us * MICROSECOND, now)
            return
        uncovered = self._uncovered
        back = gap if gap < told else told
        if uncovered and number - told < uncovered.stop:
            # This record reaches further back than others did.
            back = min(told, number - uncovered.start)
            self._uncovered = range(uncovered.start, max(uncovered.start, number - told))
        if gap > told:
            self._uncovered = range(first, number - told)
        found = self._reveal(frame, number, back, now) if back else False
        if gap > told and ordering.is_cautious and not found:
            earliest_ns = delta_ns(frame.record.delta_100us(told - 1))
            sent_ns = frame.send_ts_us * MICROSECOND
            self._assume(range(first, number - told), earliest_ns, sent_ns, now)

    def _look_further_back(self, frame: Data, number: int, now: Instant) -> None:
        """A late message's record may tell of what none before it told of."""
        uncovered = self._uncovered
        told = min(frame.record.count, self._subscription.ordering.record_used)
        if told and uncovered and number - told < uncovered.stop and number > uncovered.start:
            self._uncovered = range(uncovered.start, max(uncovered.start, number - told))
            self._reveal(frame, number, min(told, number - uncovered.start), now)

    def _reveal(self, frame: Data, number: int, back: int, now: Instant) -> bool:
        """Takes up what the record shows; says whether there was anything to wait for."""
        glimpses = self._subscription.reveal(frame, back)
        if not glimpses:
            return False
        near = [glimpse for glimpse in glimpses if glimpse.back <= back]
        return self._take_up(near, number, frame.send_ts_us * MICROSECOND, now, "record")

    def _take_up(
        self,
        glimpses: Iterable[Glimpse],
        number: int,
        sent_ns: Instant,
        now: Instant,
        found_by: FoundBy,
    ) -> bool:
        """Waits for those that have not come, of messages before `number`, of which we are told."""
        ordering = self._subscription.ordering
        found = False
        single_ns: Duration | None = None
        for glimpse in glimpses:
            absent = number - glimpse.back
            if absent < self._first or absent in self.missing or self._arrivals.came(absent):
                continue
            if self._is_over(absent):
                continue
            found = True
            if not glimpse.is_certain:
                self._assume(range(absent, absent + 1), glimpse.delta_ns, sent_ns, now)
                continue
            missing = Missing(
                self,
                absent,
                glimpse,
                departed_ns=sent_ns - glimpse.delta_ns,
                gap_ns=glimpse.delta_ns,
                now=now,
            )
            missing.found_by = found_by
            wait_ns = self._patience.wait_ns(missing, ordering)
            if ordering.is_single:
                single_ns = wait_ns if single_ns is None else single_ns
                wait_ns = single_ns
            self._wait_for(missing, wait_ns, now)
        return found

    def _assume(self, numbers: range, gap_ns: Duration, sent_ns: Instant, now: Instant) -> None:
        """Waits for numbers that may be for us or not; they are never lost.

        The latch is that of the last of them, which left `gap_ns` before what was sent then.
        """
        missing = Missing(
            self,
            numbers.start,
            None,
            departed_ns=sent_ns - gap_ns,
            gap_ns=gap_ns,
            now=now,
        )
        missing.stop = numbers.stop
        if self._find_absent(missing):
            wait_ns = self._patience.wait_ns(missing, self._subscription.ordering)
            self._wait_for(missing, wait_ns, now)

    def _find_absent(self, assumed: Missing) -> bool:
        """Moves it up to the lowest of its numbers that has not come; False if all have."""
        came = self._arrivals.came
        # What is too old to tell is skipped at once: it may be a billion numbers.
        number = max(assumed.number, self._delivered + 1, self._arrivals.known_from)
        stop = assumed.stop
        while number < stop and came(number):
            number += 1
        assumed.number = number
        return number < stop

    def _wait_for(self, missing: Missing, wait_ns: Duration, now: Instant) -> None:
        if not self._has_room(now):
            return
        missing.release_at = min(now + wait_ns, self._latest_release(missing, now))
        if not missing.is_assumed:
            ordering = self._subscription.ordering
            if ordering.loss_share:
                lose_at = now + self._patience.loss_wait_ns(missing.gap_ns, ordering)
                missing.lose_at = max(missing.release_at, lose_at)
            else:
                missing.lose_at = missing.release_at
            self._hold_for_repair(missing, now)
            self.missing[missing.number] = missing
        if missing.release_at <= now or missing.number <= self._delivered:
            self._let_go(missing, now)
        else:
            block(self._blocking, missing)
            next_at = missing.release_at
            if missing.is_held_for and missing.lose_at is not None:
                next_at = missing.lose_at
            self._subscription.timers.set(missing, next_at)

    def _hold_for_repair(self, missing: Missing, now: Instant) -> None:
        """Later messages may wait longer than the latch: until it is repaired."""
        hold_ns = self._subscription.hold_for_repair_ns
        limit = min(now + hold_ns, self._latest_release(missing, now))
        if limit > missing.release_at and missing.lose_at is not None and limit > missing.lose_at:
            missing.release_at = limit
            missing.is_held_for = True

    def _has_room(self, now: Instant) -> bool:
        """Makes room, if there is none, by giving up what was lost first.

        Nothing else is given up for it: what is not taken up stays unknown, and is
        delivered should it come.
        """
        most = self._subscription.ordering.missing_max
        if len(self._subscription.timers) >= self._subscription.timers_max:
            self._subscription.count("missing_overflow")
            return False
        if len(self.missing) < most and len(self._blocking) < most:
            return True
        self._subscription.count("missing_overflow")
        oldest = next(iter(self.missing.values()), None)
        if oldest is None or oldest.state is not LOST or len(self._blocking) >= most:
            return False
        self._end(oldest, _GIVEN_UP, now)
        return True

    # How a missing number goes on.

    def _lose(self, missing: Missing, now: Instant) -> None:
        """It is believed lost; what comes after it may have to wait for its repair all the same."""
        missing.state = LOST
        missing.lost_ns = now
        missing.forget_at = now + self._subscription.remember_ns
        self._patience.on_lost()
        next_at = missing.release_at if missing.is_held_for else missing.forget_at
        self._subscription.timers.set(missing, next_at)
        self._tell_loss(missing, now, is_retracted=False)

    def _let_go(self, missing: Missing, now: Instant) -> None:
        """Nothing waits for it any more."""
        unblock(self._blocking, missing)
        missing.is_held_for = False
        if missing.state is LOST:
            self._subscription.timers.set(missing, max(now, missing.forget_at))
            return
        missing.state = RELEASED
        if missing.lose_at is None:
            self._subscription.timers.cancel(missing)
        else:
            self._subscription.timers.set(missing, max(now, missing.lose_at))

    def _came(self, missing: Missing, fate: ReceiverFate, now: Instant) -> None:
        self._patience.on_came(missing, now)
        self._end(missing, fate, now)

    def _end(
        self, missing: Missing, resolution: Life, now: Instant, *, is_repair: bool = False
    ) -> None:
        del self.missing[missing.number]
        unblock(self._blocking, missing)
        self._subscription.timers.cancel(missing)
        if resolution is _GIVEN_UP:
            self._given_up.add(missing.number, self._subscription.ordering.missing_max)
        elif missing.state is LOST and not is_repair:
            # The original came, or it never was for us: nothing was lost.
            self._patience.on_retracted()
            self._tell_loss(missing, now, is_retracted=True)
        self._subscription.put_out(
            Absence(
                self._subscription.number,
                self._id(missing.number),
                missing.detected_ns,
                missing.found_by,
                missing.lost_ns,
                missing.state,
                resolution,
                now,
            )
        )

    def _tell_loss(self, missing: Missing, now: Instant, *, is_retracted: bool) -> None:
        loss = Loss(
            self._subscription.number,
            self._id(missing.number),
            missing.departed_ns,
            missing.detected_ns - missing.gap_ns,
            missing.glimpse,
            is_retracted,
        )
        self._subscription.tell_loss(loss, now)

    def _is_over(self, number: int) -> bool:
        """Whether its fate is told already, or it was too long ago to say."""
        return self._given_up.has(number) and number not in self.missing

    def _move_up(self, number: int, now: Instant) -> None:
        """It came: what is only assumed, and began with it, waits for a higher one or for none."""
        for assumed in [m for m in blocking_at(self._blocking, number) if m.is_assumed]:
            unblock(self._blocking, assumed)
            if self._find_absent(assumed):
                block(self._blocking, assumed)
            else:
                self._let_go(assumed, now)

    def _id(self, number: int) -> MessageId:
        return MessageId(self._arrivals.pub, self._arrivals.epoch, number & _SEQ_MASK)
