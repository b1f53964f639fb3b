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

from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.trace.fates import AT_CLOSE, Life, MissingState, ReceiverFate
from penstock.transport.arrivals import Arrivals
from penstock.transport.facts import Absence, Loss, Receipt
from penstock.transport.held import Held, Waiting
from penstock.transport.missing import (
    LOST,
    MISSING,
    RELEASED,
    GivenUp,
    Missing,
    block,
    blocking_at,
    unblock,
)
from penstock.transport.patience import Patience
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.quantise import delta_ns
from penstock.wire.serial import SEQ_BITS

if TYPE_CHECKING:
    from penstock.transport.subscription import Subscription, Wish

_DELIVERED: Final = ReceiverFate.DELIVERED
_DELIVERED_LATE: Final = ReceiverFate.DELIVERED_LATE
_DROPPED_LATE: Final = ReceiverFate.DROPPED_LATE
_GIVEN_UP: Final = ReceiverFate.GIVEN_UP
_IRRELEVANT: Final = MissingState.IRRELEVANT
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Stream:
    """Messages in, receipts and absences out, by way of the subscription."""

    __slots__ = (
        "_arrivals",
        "_blocking",
        "_delivered",
        "_given_up",
        "_held",
        "_highest",
        "_patience",
        "_subscription",
        "_uncovered",
        "missing",
    )

    def __init__(self, subscription: Subscription, arrivals: Arrivals, first: int) -> None:
        self._subscription: Final = subscription
        self._arrivals: Final = arrivals
        self._patience: Final = Patience(arrivals.estimator(subscription.ordering.estimator))
        # The highest number that came for us, and that was handed over.
        self._highest = self._delivered = first - 1
        self._held: Final = Held()
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

    # What comes.

    def take(self, frame: Data, number: int, now: Instant) -> None:
        """A message for us, which comes for the first time."""
        self._patience.seen += 1
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

    def pass_by(self, number: int, now: Instant) -> None:
        """A message that is not for us came: if it was thought missing, it never was."""
        missing = self.missing.get(number)
        if missing is not None:
            self._end(missing, _IRRELEVANT, now)
            self._release(now)

    def ring(self, missing: Missing, now: Instant) -> None:
        """A missing number's time is up."""
        if missing.state is MISSING:
            self._let_go(missing, now)
            self._release(now)
        elif missing.state is RELEASED:
            missing.state = LOST
            missing.lost_ns = now
            self._patience.on_lost()
            self._subscription.timers.set(missing, now + self._subscription.ordering.remember_ns)
            self._tell_loss(missing, now, is_retracted=False)
        else:
            self._end(missing, _GIVEN_UP, now)

    def adjust(self, now: Instant) -> None:
        """The subscription's settings changed: nothing waits longer than they now allow."""
        ordering = self._subscription.ordering
        self._patience.estimator = self._arrivals.estimator(ordering.estimator)
        for missing in self._blocking:
            limit = self._latest_release(missing, now)
            if limit < missing.release_at:
                missing.release_at = limit
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

    # What is not there.

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
                self._assume(range(first, number), gap_ns, frame, now)
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
            self._assume(range(first, number - told), earliest_ns, frame, now)

    def _reveal(self, frame: Data, number: int, back: int, now: Instant) -> bool:
        """Takes up what the record shows; says whether there was anything to wait for."""
        glimpses = self._subscription.reveal(frame, back)
        if not glimpses:
            return False
        ordering = self._subscription.ordering
        found = False
        single_ns: Duration | None = None
        for glimpse in glimpses:
            absent = number - glimpse.back
            if glimpse.back > back or absent in self.missing or self._arrivals.came(absent):
                continue
            if self._is_over(absent):
                continue
            found = True
            if not glimpse.is_certain:
                self._assume(range(absent, absent + 1), glimpse.delta_ns, frame, now)
                continue
            missing = Missing(
                self,
                absent,
                glimpse,
                departed_ns=frame.send_ts_us * MICROSECOND - glimpse.delta_ns,
                gap_ns=glimpse.delta_ns,
                now=now,
            )
            wait_ns = self._patience.wait_ns(missing, ordering)
            if ordering.is_single:
                single_ns = wait_ns if single_ns is None else single_ns
                wait_ns = single_ns
            self._wait_for(missing, wait_ns, now)
        return found

    def _assume(self, numbers: range, gap_ns: Duration, frame: Data, now: Instant) -> None:
        """Waits for numbers that may be for us or not; they are never lost.

        The latch is that of the last of them, which left `gap_ns` before the frame.
        """
        missing = Missing(
            self,
            numbers.start,
            None,
            departed_ns=frame.send_ts_us * MICROSECOND - gap_ns,
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
                lose_at = now + self._patience.loss_wait_ns(missing, ordering)
                missing.lose_at = max(missing.release_at, lose_at)
            else:
                missing.lose_at = missing.release_at
            self.missing[missing.number] = missing
        if missing.release_at <= now or missing.number <= self._delivered:
            self._let_go(missing, now)
        else:
            block(self._blocking, missing)
            self._subscription.timers.set(missing, missing.release_at)

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

    def _let_go(self, missing: Missing, now: Instant) -> None:
        """Nothing waits for it any more."""
        missing.state = RELEASED
        unblock(self._blocking, missing)
        if missing.lose_at is None:
            self._subscription.timers.cancel(missing)
        else:
            self._subscription.timers.set(missing, max(now, missing.lose_at))

    def _end(self, missing: Missing, resolution: Life, now: Instant) -> None:
        del self.missing[missing.number]
        unblock(self._blocking, missing)
        self._subscription.timers.cancel(missing)
        if resolution is _GIVEN_UP:
            self._given_up.add(missing.number, self._subscription.ordering.missing_max)
        elif missing.state is LOST:
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

    # What waits, and what goes out.

    def _take_late(self, frame: Data, number: int, now: Instant) -> None:
        """A number below others that came."""
        missing = self.missing.get(number)
        is_late = number <= self._delivered
        drops = is_late and self._subscription.ordering.late == "drop"
        fate = _DROPPED_LATE if drops else _DELIVERED_LATE if is_late else _DELIVERED
        if missing is not None:
            self._patience.on_came(missing, now)
            self._end(missing, fate, now)
        if is_late:
            self._hand_over(frame, now, now, None, fate)
        else:
            self._hold(frame, number, now)
        if self._blocking:
            self._move_up(number, now)
        self._release(now)
        self._look_further_back(frame, number, now)

    def _look_further_back(self, frame: Data, number: int, now: Instant) -> None:
        """A late message's record may tell of what none before it told of."""
        uncovered = self._uncovered
        told = min(frame.record.count, self._subscription.ordering.record_used)
        if told and uncovered and number - told < uncovered.stop and number > uncovered.start:
            self._uncovered = range(uncovered.start, max(uncovered.start, number - told))
            self._reveal(frame, number, min(told, number - uncovered.start), now)

    def _hold(self, frame: Data, number: int, now: Instant) -> None:
        latch_ns = self._blocking[-1].release_at - now if self._blocking else 0
        held = self._held
        held.add(Waiting(number, frame, now, latch_ns))
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
            self._hand_over(waiting.frame, waiting.arrived_ns, now, latch_ns, _DELIVERED)

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
