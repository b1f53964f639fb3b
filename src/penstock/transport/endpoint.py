"""One application's end of the transport.

Stands between an application and a best-effort publish/subscribe network, as
another such network would: `publish`, `subscribe`, `unsubscribe`. On the way out
a message gets a number, a time and a record of the messages before it; on the
way in these are taken off again, and serve to hand each publisher's messages
over in order and to tell what is missing.

1. `_on_data` finds the publisher, and drops what came before or is of an old epoch.
2. The delay estimators see it; each subscription whose predicate it matches orders it.
3. What a subscription hands over or gives up comes out of `poll`.
4. What is lost goes to `recovery`, if there is any, and comes back by `take_repair`.

Knows nothing of what carries it: `network` may be any.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Final, Generic, Protocol

from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, SECOND, Instant
from penstock.kernel.machine import Deliver, Output, Port, Record
from penstock.kernel.timers import Timers
from penstock.trace.fates import ReceiverFate
from penstock.transport.arrivals import Arrivals
from penstock.transport.facts import Absence, Loss, Receipt
from penstock.transport.interest import DigestReader
from penstock.transport.missing import Missing
from penstock.transport.network import Carried, Network
from penstock.transport.publisher import Publisher
from penstock.transport.recovery.budget import Admission
from penstock.transport.recovery.recovery import Answered, Asked, Identity, Recovery, Told
from penstock.transport.settings import DEFAULT, EndpointSettings, OrderingSettings
from penstock.transport.stream import Stream
from penstock.transport.subscription import Subscription, Wish
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.serial import EPOCH_BITS, newer

_DELIVERED: Final = ReceiverFate.DELIVERED
_REPAIRED: Final = ReceiverFate.REPAIRED
_GIVEN_UP: Final = ReceiverFate.GIVEN_UP
_SILENCE_NS: Final = 30 * SECOND
# Up to so many filters in all, looking at each is quicker than an index.
_FEW_FILTERS: Final = 4


class LossListener(Protocol):
    """Recovery or congestion control: hears of losses; there is none unless it is given."""

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A number is lost, or it came after all and never was."""


class Endpoint(Generic[Carried]):
    """A machine over `network`; `Deliver.item` is a `facts.Receipt` or a `facts.Absence`.

    `pub` is the number that this endpoint publishes under, `epoch` one that is
    newer at each start, `encoder` the same for all endpoints of the network. Recovery
    needs chance: `draw` gives a number from 0 to 1.
    """

    def __init__(
        self,
        network: Network[Carried],
        *,
        pub: int,
        epoch: int,
        encoder: Encoder,
        settings: EndpointSettings | None = None,
        listeners: Sequence[LossListener] = (),
        draw: Callable[[], float] | None = None,
        admission: Admission | None = None,
    ) -> None:
        # What is below, for a driver that must tell it of links.
        self.network: Final = network
        self._settings: Final = settings or EndpointSettings()
        self._publisher: Final = Publisher(pub, epoch, encoder, self._settings)
        self._encoder: Final = encoder
        self._listeners = tuple(listeners)
        self._numbers: Final = count(1)
        self._subscriptions: Final[dict[int, Subscription]] = {}
        self._wishes: Final[dict[Predicate, Wish]] = {}
        # The same by the numbers that the network knows them by; and an index if they are many.
        self._numbered: Final[dict[int, Wish]] = {}
        self._index: MatchingIndex[int] | None = None
        # Those heard last come last.
        self._arrivals: Final[OrderedDict[int, Arrivals]] = OrderedDict()
        self._timers: Final[Timers[Missing]] = Timers()
        self._out: Final[deque[Output[Carried]]] = deque()
        self._losses: Final[deque[tuple[Loss, Instant]]] = deque()
        self._now: Instant = 0
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
            ),
            0,
        )
        self.recovery: Recovery | None = None
        recovery = self._settings.recovery
        if recovery is not None:
            if draw is None:
                raise UsageError("recovery needs chance: give the endpoint a draw")
            self.recovery = Recovery(
                Identity(pub, epoch, encoder),
                recovery,
                network,
                self,
                numbers=self._numbers,
                draw=draw,
                counters=self.counters,
                admission=admission,
            )
            self._listeners = (*self._listeners, self.recovery)

    # What the application does.

    def publish(self, message: Message, *, now: Instant) -> Data:
        """Sends it; returns the frame that left."""
        self._now = now
        frame = self._publisher.frame(message, now)
        self.network.publish(frame, now=now)
        if self.recovery is not None:
            self.recovery.published(frame, now)
        return frame

    def subscribe(
        self, predicate: Predicate, *, ordering: OrderingSettings = DEFAULT, now: Instant
    ) -> int:
        """Returns the subscription's number. Equal predicates share one network subscription."""
        self._now = now
        wish = self._wishes.get(predicate)
        number = next(self._numbers)
        if wish is None:
            wish = Wish(number, predicate, self._encoder)
            self.network.subscribe(number, predicate, now=now)
            self._wishes[predicate] = self._numbered[number] = wish
            self._index_wish(wish)
            if self.recovery is not None:
                self.recovery.subscribed(number, predicate, now)
        recovery = self._settings.recovery
        subscription = Subscription(
            number,
            wish,
            ordering,
            timers=self._timers,
            timers_max=self._settings.missing_max,
            put_out=self._put_out,
            on_loss=self._tell_loss,
            counters=self.counters,
            repairs_within_ns=None if recovery is None else recovery.give_up_ns,
        )
        wish.subscriptions[number] = self._subscriptions[number] = subscription
        return number

    def adjust(self, subscription: int, ordering: OrderingSettings, *, now: Instant) -> None:
        """Changes how a subscription orders, from now on."""
        adjusted = self._subscription(subscription)
        streams = [
            a.streams[subscription] for a in self._arrivals.values() if subscription in a.streams
        ]
        if ordering.latch is None:
            for stream in streams:
                stream.suspend(now)
        adjusted.order_by(ordering)
        if ordering.latch is not None:
            for stream in streams:
                stream.adjust(now)
        self._tell_listeners()

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Hands over what is held, and ends the subscription: nothing comes after that."""
        self._now = now
        wish = self._subscription(subscription).wish
        self._close_streams(subscription, now)
        del self._subscriptions[subscription], wish.subscriptions[subscription]
        if not wish.subscriptions:
            del self._wishes[wish.predicate], self._numbered[wish.number]
            if self._index is not None:
                self._index.remove(wish.number)
            self.network.unsubscribe(wish.number, now=now)
            if self.recovery is not None:
                self.recovery.unsubscribed(wish.number, now)
        self._tell_listeners()

    # What the driver does.

    def receive(self, frame: Carried, *, via: Port, now: Instant) -> None:
        """Takes a frame from the network."""
        self._now = now
        self.network.receive(frame, via=via, now=now)
        self._hear(now)
        if self._losses:
            self._tell_listeners()

    def wake(self, *, now: Instant) -> None:
        """Runs everything that is due."""
        self._now = now
        self.network.wake(now=now)
        self._hear(now)
        for missing in self._timers.due(now):
            missing.stream.ring(missing, now)
        self._tell_listeners()
        if self.recovery is not None:
            self.recovery.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        below, own = self.network.next_wakeup(), self._timers.next_wakeup()
        if self.recovery is not None:
            theirs = self.recovery.next_wakeup()
            own = theirs if own is None else own if theirs is None else min(own, theirs)
        if below is None or own is None:
            return own if below is None else below
        return min(below, own)

    def poll(self) -> Output[Carried] | None:
        """The next thing to do."""
        if self._out:
            return self._out.popleft()
        output = self.network.poll()
        if type(output) is not Deliver:
            return output
        # The network below was told something by others than us.
        self._take(output.item, self._now)
        self._tell_listeners()
        return self.poll()

    # What comes in.

    def _hear(self, now: Instant) -> None:
        """Takes what the network below puts out: messages for us, and frames to send."""
        poll = self.network.poll
        while (output := poll()) is not None:
            if type(output) is Deliver:
                self._take(output.item, now)
            else:
                self._out.append(output)

    def _take(self, item: object, now: Instant) -> None:
        if type(item) is Data:
            self._on_data(item, now)
        elif not (
            self.recovery is not None
            and isinstance(item, TransportFrame)
            and self.recovery.take(item, now)
        ):
            self.counters["not_data"] += 1

    def _on_data(self, frame: Data, now: Instant) -> None:
        arrivals = self._arrivals.get(frame.pub)
        if arrivals is None or arrivals.epoch != frame.epoch:
            if arrivals is not None and not _is_new_epoch(frame, arrivals, now):
                self.counters["old_epoch"] += 1
                return
            arrivals = self._begin(frame, now)
        else:
            self._arrivals.move_to_end(frame.pub)
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
        if self.recovery is not None:
            self.recovery.came(frame, is_wanted=bool(wishes), now=now)

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

    def take_repair(self, frame: Data, now: Instant) -> bool:
        """Takes a message that others had kept; whether it was still missing.

        It must be one that is known to be missing, or at least one that others of its
        publisher have come after: what is yet to come is nobody's to repair.
        """
        arrivals = self._arrivals.get(frame.pub)
        if arrivals is None or arrivals.epoch != frame.epoch:
            self.counters["repair_unwanted"] += 1
            return False
        number = arrivals.number(frame.seq)
        is_missing = any(number in stream.missing for stream in arrivals.streams.values())
        if not is_missing and not arrivals.known_from <= number < arrivals.highest:
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

    def take_digest(self, digest: Digest, now: Instant) -> None:
        """Looks for what is missing of what a digest tells of."""
        arrivals = self._arrivals.get(digest.pub)
        if arrivals is None or arrivals.epoch != digest.epoch or not arrivals.streams:
            return
        told = DigestReader(digest, self._encoder)
        after = arrivals.number(digest.seq) + 1
        sent_ns = digest.send_ts_us * MICROSECOND
        for stream in list(arrivals.streams.values()):
            glimpses = stream.wish.interest(None).reveal_digest(told)
            if glimpses:
                stream.take_digest(glimpses, after, sent_ns, now)
        self._tell_listeners()

    def tell(self, fact: Asked | Answered | Told) -> None:
        """For the trace."""
        self._out.append(Record(fact))

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

    def _subscription(self, number: int) -> Subscription:
        found = self._subscriptions.get(number)
        if found is None:
            raise UsageError(f"there is no subscription {number}: it was ended, or never begun")
        return found

    # What goes out.

    def _put_out(self, fact: Receipt | Absence) -> None:
        self._out.append(Deliver(fact))
        if self.recovery is not None and type(fact) is Absence and fact.resolution is _GIVEN_UP:
            self.recovery.forget(fact.id)

    def _tell_loss(self, loss: Loss, now: Instant) -> None:
        """Not at once: a listener may do anything, and a stream is in the middle of something."""
        if self._listeners:
            self._losses.append((loss, now))

    def _tell_listeners(self) -> None:
        while self._losses:
            loss, now = self._losses.popleft()
            for listener in self._listeners:
                listener.on_loss(loss, now=now)


def _is_new_epoch(frame: Data, arrivals: Arrivals, now: Instant) -> bool:
    """Epochs may be counted by a clock, and wrap: after a long silence any other one is new."""
    is_silent = now - arrivals.heard_ns > _SILENCE_NS
    return is_silent or newer(frame.epoch, arrivals.epoch, EPOCH_BITS)
