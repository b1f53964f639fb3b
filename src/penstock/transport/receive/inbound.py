"""What an endpoint hears: whose messages came, which subscriptions they are for.

1. `_on_data` finds the publisher, and drops what came before or is of an old epoch.
2. The delay estimators see it; each subscription whose predicate it matches orders it.

Repairs and digests come by here too, from `recovery`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.trace.fates import ReceiverFate
from penstock.transport.congestion.controller import Congestion
from penstock.transport.detect.flow_gaps import Lost
from penstock.transport.facts import Absence, Receipt, Unseen
from penstock.transport.order.missing import LOST
from penstock.transport.order.stream import Stream
from penstock.transport.receive.publisher_image import WINDOW, Arrivals
from penstock.transport.receive.subscriptions import Wish
from penstock.transport.record.matcher import open_digest
from penstock.transport.recovery.recovery import Recovery
from penstock.transport.settings import EndpointSettings
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.serial import EPOCH_BITS, SEQ_BITS, newer

_DELIVERED: Final = ReceiverFate.DELIVERED
_REPAIRED: Final = ReceiverFate.REPAIRED
_SILENCE_NS: Final = 30 * SECOND
# Of publishers whose delays nobody measures.
_LOSS_WAIT_NS: Final = 100 * MILLISECOND
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
# Up to so many filters in all, looking at each is quicker than an index.
_FEW_FILTERS: Final = 4


class Reception(ABC):
    """Publishers that are heard, and what is wanted of them."""

    def __init__(self, encoder: Encoder, settings: EndpointSettings) -> None:
        self._encoder: Final = encoder
        self._settings: Final = settings
        self._wishes: Final[dict[Predicate, Wish]] = {}
        # The same by the numbers that the network knows them by; and an index if they are many.
        self._numbered: Final[dict[int, Wish]] = {}
        self._index: MatchingIndex[int] | None = None
        # Those heard last come last.
        self._arrivals: Final[OrderedDict[int, Arrivals]] = OrderedDict()
        self.recovery: Recovery | None = None
        self.congestion: Congestion | None = None
        # What was dropped, and which bounds were met.
        self.counters: Final[dict[str, int]] = dict.fromkeys(
            (
                "duplicate",
                "too_old",
                "old_epoch",
                "unmatched",
                "not_data",
                "after_end",
                "held_overflow",
                "missing_overflow",
                "publishers_overflow",
                "dropped_at_source",
            ),
            0,
        )

    @abstractmethod
    def _put_out(self, fact: Receipt | Absence | Unseen) -> None:
        """To the application."""

    @abstractmethod
    def _tell_listeners(self) -> None:
        """Of losses."""

    def _on_data(self, frame: Data, now: Instant, *, is_marked: bool = False) -> None:
        arrivals = self._arrivals.get(frame.pub)
        if arrivals is None or arrivals.epoch != frame.epoch:
            if arrivals is not None and not _is_new_epoch(frame, arrivals, now):
                self.counters["old_epoch"] += 1
                return
            arrivals = self._begin(frame, now)
        else:
            self._arrivals.move_to_end(frame.pub)
        before = arrivals.highest
        number = arrivals.take(frame, now)
        if number is None:
            if not arrivals.is_too_old(frame.seq):
                self.counters["duplicate"] += 1
                return
            if now - arrivals.heard_ns <= _SILENCE_NS:
                self.counters["too_old"] += 1
                return
            # Nothing newer for long: the number that made this one old was a mistake, or forged.
            arrivals = self._begin(frame, now)
            number = arrivals.take(frame, now)
            assert number is not None
        wishes = self._matching(frame.message)
        for wish in wishes:
            for subscription in wish.subscriptions.values():
                stream = arrivals.streams.get(subscription.number)
                if subscription.ordering.latch is None:
                    if stream is None:
                        receipt = Receipt(subscription.number, frame, now, now, None, _DELIVERED)
                        self._put_out(receipt)
                    else:
                        stream.take_unordered(frame, number, now)
                    continue
                if stream is None:
                    stream = Stream(subscription, arrivals, number)
                    arrivals.streams[subscription.number] = stream
                stream.take(frame, number, now)
        if not wishes:
            self.counters["unmatched"] += 1
        if number != arrivals.highest:
            self._pass_by(arrivals, number, wishes, now)
        if self.congestion is not None and any(wish.subscriptions for wish in wishes):
            if is_marked:
                # Of what comes twice the mark was heard with the first.
                self.congestion.marked(frame, now)
            self.congestion.came(frame, size_of(frame), now)
        if self.recovery is not None:
            untold = number - before - 1 - frame.record.count
            if untold > 0:
                first = (before + 1) & _SEQ_MASK
                self.recovery.on_untold(frame.pub, frame.epoch, first, untold, now)
            is_wanted = any(wish.subscriptions for wish in wishes)
            self.recovery.came(frame, is_wanted=is_wanted, is_kept=bool(wishes), now=now)

    def _pass_by(
        self, arrivals: Arrivals, number: int, wishes: Sequence[Wish], now: Instant
    ) -> None:
        """A late message ends the wait also of those who only thought that it was for them."""
        for stream in arrivals.streams.values():
            if number in stream.missing and stream.wish not in wishes:
                stream.pass_by(number, now)

    def _matching(self, message: Message) -> Sequence[Wish]:
        if self._index is None:
            return [wish for wish in self._wishes.values() if wish.predicate.matches(message)]
        # In order of subscription: the index's own order is not the same on every machine.
        return [self._numbered[number] for number in sorted(self._index.match(message))]

    def _index_wish(self, wish: Wish) -> None:
        """Puts it into the index, which is there once there are more than a few filters."""
        if self._index is not None:
            self._index.add(wish.number, wish.predicate)
        elif sum(len(predicate.filters) for predicate in self._wishes) > _FEW_FILTERS:
            self._index = MatchingIndex()
            for each in self._wishes.values():
                self._index.add(each.number, each.predicate)

    # What recovery asks for.

    def has_come(self, id_: MessageId) -> bool:
        """Whether the message came here, as far as that is remembered."""
        arrivals = self._arrivals.get(id_.pub)
        if arrivals is None or arrivals.epoch != id_.epoch:
            return False
        number = arrivals.number(id_.seq)
        return number >= arrivals.known_from and arrivals.came(number)

    def take_repair(self, frame: Data, now: Instant, *, is_asked: bool = False) -> bool:
        """Takes a message that others had kept; whether it was still missing.

        It must be one that was asked for or is known to be missing, or at least one that
        others of its publisher have come after: what is yet to come is nobody's to repair.
        """
        arrivals = self._arrivals.get(frame.pub)
        if arrivals is None or arrivals.epoch != frame.epoch:
            self.counters["repair_unwanted"] += 1
            return False
        number = arrivals.number(frame.seq)
        is_missing = any(number in s.missing for s in arrivals.streams.values())
        is_asked &= number <= arrivals.highest + WINDOW
        is_past = arrivals.begun <= number < arrivals.highest and number >= arrivals.known_from
        if not (is_missing or is_asked or is_past):
            self.counters["repair_unwanted"] += 1
            return False
        wishes = self._matching(frame.message)
        if not wishes:
            # [F17] What the record told of it was not enough: it never was for us.
            self.counters["repair_unmatched"] += 1
            self._pass_by(arrivals, number, wishes, now)
            return False
        if not arrivals.add(number):
            self.counters["duplicate"] += 1
            return False
        for wish in wishes:
            for subscription in wish.subscriptions.values():
                stream = arrivals.streams.get(subscription.number)
                if stream is None:
                    self._put_out(Receipt(subscription.number, frame, now, now, None, _REPAIRED))
                else:
                    stream.take_repair(frame, number, now)
        self._pass_by(arrivals, number, wishes, now)
        return True

    def give_up(self, id_: MessageId, now: Instant) -> None:
        """Nobody could repair it."""
        arrivals = self._arrivals.get(id_.pub)
        if arrivals is not None and arrivals.epoch == id_.epoch:
            number = arrivals.number(id_.seq)
            for stream in arrivals.streams.values():
                stream.give_up(number, now)

    def give_up_unseen(self, lost: Lost, now: Instant) -> None:
        """So many messages nobody could repair, of which it is not known which they were."""
        wish = self._numbered.get(lost.wish)
        for number in wish.subscriptions if wish else ():
            unseen = Unseen(number, lost.pub, lost.epoch, lost.messages, lost.detected_ns, now)
            self._put_out(unseen)

    def loss_wait_ns(self, pub: int) -> Duration:
        """How long after another a message of this publisher may come that left before it."""
        arrivals = self._arrivals.get(pub)
        streams = arrivals.streams.values() if arrivals is not None else ()
        return max((stream.loss_wait_ns() for stream in streams), default=_LOSS_WAIT_NS)

    def _is_lost(self, id_: MessageId) -> bool:
        """Whether a subscription still hopes for it, after others have ended or given it up."""
        arrivals = self._arrivals.get(id_.pub)
        if arrivals is None or arrivals.epoch != id_.epoch:
            return False
        number = arrivals.number(id_.seq)
        missing = (stream.missing.get(number) for stream in arrivals.streams.values())
        return any(one is not None and one.state is LOST for one in missing)

    def take_digest(self, digest: Digest, now: Instant) -> None:
        """Looks for what is missing of what a digest tells of."""
        arrivals = self._arrivals.get(digest.pub)
        if arrivals is None or arrivals.epoch != digest.epoch or not arrivals.streams:
            return
        told = open_digest(digest, self._encoder)
        after = arrivals.number(digest.seq) + 1
        sent_ns = digest.send_ts_us * MICROSECOND
        for number, stream in list(arrivals.streams.items()):
            if stream.wish.subscriptions[number].ordering.latch is None:
                # It has ceased to order: nothing is missed.
                continue
            glimpses = stream.wish.interest(None).reveal_digest(told)
            if glimpses:
                stream.take_digest(glimpses, after, sent_ns, now)
        self._tell_listeners()

    # Who is heard.

    @property
    def publishers(self) -> Collection[int]:
        """Those that are remembered, the one heard last at the end."""
        return self._arrivals.keys()

    def _begin(self, first: Data, now: Instant) -> Arrivals:
        """A publisher's first message, or the first of a new epoch."""
        if first.pub in self._arrivals:
            self._forget(first.pub, now)
        elif len(self._arrivals) >= self._settings.publishers_max:
            self.counters["publishers_overflow"] += 1
            self._forget(next(iter(self._arrivals)), now)
        arrivals = self._arrivals[first.pub] = Arrivals(first)
        return arrivals

    def _forget(self, pub: int, now: Instant) -> None:
        for stream in self._arrivals.pop(pub).streams.values():
            stream.close(now)

    def _close_streams(self, subscription: int, now: Instant) -> None:
        for arrivals in self._arrivals.values():
            stream = arrivals.streams.pop(subscription, None)
            if stream is not None:
                stream.close(now)


def _is_new_epoch(frame: Data, arrivals: Arrivals, now: Instant) -> bool:
    """Epochs may be counted by a clock, and wrap: after a long silence any other one is new."""
    is_silent = now - arrivals.heard_ns > _SILENCE_NS
    return is_silent or newer(frame.epoch, arrivals.epoch, EPOCH_BITS)
