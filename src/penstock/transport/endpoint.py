"""One application's end of the transport.

Stands between an application and a best-effort publish/subscribe network, as
another such network would: `publish`, `subscribe`, `unsubscribe`. On the way out
a message gets a number, a time and a record of the messages before it; on the
way in these are taken off again, and serve to hand each publisher's messages
over in order and to tell what is missing.

1. What comes in goes through `reception` to the subscriptions that order it.
2. What a subscription hands over or gives up comes out of `poll`.
3. What is lost goes to `recovery`, if there is any, and comes back by `take_repair`.

Knows nothing of what carries it: `network` may be any.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, Generic, Protocol

import msgspec

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Deliver, Output, Port, Record
from penstock.kernel.timers import Timers
from penstock.trace.fates import ReceiverFate
from penstock.transport.congestion.controller import Congestion
from penstock.transport.congestion.quotas import check_weight
from penstock.transport.congestion.receiver.feedback_sender import Said
from penstock.transport.facts import Absence, Departed, Dropped, Loss, Receipt, Unseen
from penstock.transport.inbox import Address
from penstock.transport.network import Carried, Network
from penstock.transport.order.missing import Missing
from penstock.transport.publish.congestion_header import NO_HEAD, Head
from penstock.transport.publish.sequencer import Publisher
from penstock.transport.receive.inbound import Reception
from penstock.transport.receive.subscriptions import Subscription, Wish
from penstock.transport.recovery.admission import Admission
from penstock.transport.recovery.facts import Identity
from penstock.transport.recovery.facts import Said as Recorded
from penstock.transport.recovery.recovery import Recovery
from penstock.transport.requests_as_messages import Plain
from penstock.transport.settings import DEFAULT, EndpointSettings, OrderingSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data

_GIVEN_UP: Final = ReceiverFate.GIVEN_UP


class LossListener(Protocol):
    """Recovery or congestion control: hears of losses; there is none unless it is given."""

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A number is lost, or it came after all and never was."""


class Endpoint(Reception, Generic[Carried]):
    """A machine over `network`; `Deliver.item` is a `facts.Receipt`, an `Absence` or an `Unseen`.

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
        super().__init__(encoder, settings or EndpointSettings())
        self._publisher: Final = Publisher(pub, epoch, encoder, self._settings)
        self._listeners = tuple(listeners)
        self._numbers: Final = count(1)
        self._subscriptions: Final[dict[int, Subscription]] = {}
        # What is kept for others only, by the numbers of the offers.
        self._offers: Final[dict[int, Wish]] = {}
        self._timers: Final[Timers[Missing]] = Timers()
        self._out: Final[deque[Output[Carried]]] = deque()
        self._losses: Final[deque[tuple[Loss, Instant]]] = deque()
        self._now: Instant = 0
        recovery, congestion = self._settings.recovery, self._settings.congestion
        if (recovery or congestion) is not None and draw is None:
            raise UsageError(
                "recovery and congestion control need chance: give the endpoint a draw"
            )
        below = network
        if recovery is not None and recovery.requests_as == "message":
            below = Plain(network, encoder, self._numbers)
        self._address: Final = Address(pub, below, self._numbers)
        if congestion is not None:
            assert draw is not None
            self.congestion = Congestion(
                pub, epoch, congestion, encoder, draw=draw, send=self._say, counters=self.counters
            )
            self._listeners = (*self._listeners, self.congestion)
        if recovery is not None:
            assert draw is not None
            self.recovery = Recovery(
                Identity(pub, epoch, encoder),
                recovery,
                below,
                self,
                self._address,
                numbers=self._numbers,
                draw=draw,
                counters=self.counters,
                admission=admission or self.congestion,
            )
            self._listeners = (*self._listeners, self.recovery)

    # What the application does.

    def publish(self, message: Message, *, now: Instant) -> Data:
        """Sends it at once; returns the frame that left. With congestion control, `offer` it."""
        if self.congestion is not None:
            raise UsageError("congestion control decides when messages leave: offer it instead")
        self._now = now
        return self._depart(message, NO_HEAD, now)

    def offer(self, message: Message, *, now: Instant) -> None:
        """Sends it when its turn comes, perhaps at once; or delivers that it, or another, is lost.

        `facts.Departed` is recorded when it leaves.
        """
        self._now = now
        self._publisher.check(message)
        if self.congestion is None:
            self._out.append(Record(Departed(self._depart(message, NO_HEAD, now))))
            return
        self._address.make_known(now)
        dropped = self.congestion.offer(message, now)
        if dropped is not None:
            self.counters["dropped_at_source"] += 1
            self._out.append(Deliver(Dropped(dropped.message, now, now - dropped.since_ns)))
        self._release(now)

    @property
    def is_full(self) -> bool:
        """Whether so many messages wait to leave that whoever publishes should wait, too."""
        return self.congestion is not None and self.congestion.is_full

    def has_room(self, message: Message, *, now: Instant) -> bool:
        """Whether whoever publishes this one need not wait."""
        return self.congestion is None or self.congestion.has_room(message, now)

    @property
    def waiting(self) -> int:
        """Messages that were offered, and have not left."""
        return 0 if self.congestion is None else self.congestion.waiting

    def _release(self, now: Instant) -> None:
        """Sends what may leave."""
        assert self.congestion is not None
        for each, head in self.congestion.ready(now):
            frame = self._depart(each.message, head, now)
            self._out.append(Record(Departed(frame, now - each.since_ns)))
        self.congestion.settle(now)

    def _depart(self, message: Message, head: Head, now: Instant) -> Data:
        flows = () if self.recovery is None else self.recovery.flows_of(message)
        frame = self._publisher.frame(message, now, flows, head)
        self.network.publish(frame, now=now)
        if self.recovery is not None:
            self.recovery.published(frame, now)
        return frame

    def subscribe(
        self,
        predicate: Predicate,
        *,
        ordering: OrderingSettings = DEFAULT,
        weight: float = 1.0,
        now: Instant,
    ) -> int:
        """Returns the subscription's number. Equal predicates share one network subscription.

        Where congestion control cannot let all through, each gets as much for its `weight`;
        of equal predicates the one that comes last says it.
        """
        check_weight(weight)
        number = next(self._numbers)
        wish = self._wish(number, predicate, now)
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
        if self.congestion is not None:
            self.congestion.weigh(wish.number, weight)
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
        self._let_go(wish, now)
        self._tell_listeners()

    def volunteer(self, predicate: Predicate, *, now: Instant) -> int:
        """Keeps what matches for those who lose it, and hands nothing over; returns a number."""
        recovery = self._settings.recovery
        if recovery is None or not recovery.volunteers:
            raise UsageError(
                "to keep messages for others takes recovery: give a RecoverySettings"
                " whose volunteers is true"
            )
        number = next(self._numbers)
        wish = self._offers[number] = self._wish(number, predicate, now)
        wish.offers.add(number)
        return number

    def withdraw(self, offer: int, *, now: Instant) -> None:
        """Ends what `volunteer` began; what is kept still serves those who ask for the rest."""
        wish = self._offers.pop(offer, None)
        if wish is None:
            raise UsageError(f"there is no offer {offer}: it was withdrawn, or never made")
        self._now = now
        wish.offers.remove(offer)
        self._let_go(wish, now)

    # What is wanted, once each.

    def _wish(self, number: int, predicate: Predicate, now: Instant) -> Wish:
        self._now = now
        wish = self._wishes.get(predicate)
        if wish is None:
            wish = Wish(number, predicate, self._encoder)
            self.network.subscribe(number, predicate, now=now)
            self._wishes[predicate] = self._numbered[number] = wish
            self._index_wish(wish)
            if self.recovery is not None:
                self.recovery.subscribed(number, predicate, now)
            if self.congestion is not None:
                self._address.make_known(now)
                self.congestion.subscribed(number, predicate)
        return wish

    def _let_go(self, wish: Wish, now: Instant) -> None:
        """Takes it back from the network, unless somebody else has it too."""
        if wish.subscriptions or wish.offers:
            return
        del self._wishes[wish.predicate], self._numbered[wish.number]
        if self._index is not None:
            self._index.remove(wish.number)
        self.network.unsubscribe(wish.number, now=now)
        if self.recovery is not None:
            self.recovery.unsubscribed(wish.number, now)
        if self.congestion is not None:
            self.congestion.unsubscribed(wish.number, wish.predicate, now)

    # What the driver does.

    def receive(self, frame: Carried, *, via: Port, now: Instant) -> None:
        """Takes a frame from the network."""
        self._now = now
        self.network.receive(frame, via=via, now=now)
        self._hear(now)
        if self._losses:
            self._tell_listeners()
        if self.congestion is not None and self.congestion.waiting:
            # What came may have made a flow quicker, or let it go.
            self._release(now)

    def wake(self, *, now: Instant) -> None:
        """Runs everything that is due."""
        self._now = now
        self.network.wake(now=now)
        self._hear(now)
        for missing in self._timers.due(now):
            missing.stream.ring(missing, now)
        self._tell_listeners()
        if self.congestion is not None:
            self.congestion.wake(now)
            self._release(now)
        # After that: what leaves may fill a digest, which is due at once.
        if self.recovery is not None:
            self.recovery.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        recovery = None if self.recovery is None else self.recovery.next_wakeup()
        congestion = None if self.congestion is None else self.congestion.next_wakeup()
        return earliest(
            self.network.next_wakeup(), self._timers.next_wakeup(), recovery, congestion
        )

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
            if item.is_marked:
                # It was not lost, and is kept as its publisher sent it.
                item = msgspec.structs.replace(item, is_marked=False)
                self._on_data(item, now, is_marked=True)
            else:
                self._on_data(item, now)
        elif not isinstance(item, TransportFrame) or not (
            (self.recovery is not None and self.recovery.take(item, now))
            or (self.congestion is not None and self.congestion.take(item, now))
        ):
            self.counters["not_data"] += 1

    def _say(self, said: Said, now: Instant) -> None:
        """To one other endpoint, about congestion."""
        self._out.append(Record(said))
        self.network.publish(said.frame, now=now)

    def tell(self, fact: Recorded) -> None:
        """For the trace."""
        self._out.append(Record(fact))

    def _subscription(self, number: int) -> Subscription:
        found = self._subscriptions.get(number)
        if found is None:
            raise UsageError(f"there is no subscription {number}: it was ended, or never begun")
        return found

    # What goes out.

    def _put_out(self, fact: Receipt | Absence | Unseen) -> None:
        self._out.append(Deliver(fact))
        if (
            self.recovery is not None
            and type(fact) is Absence
            and fact.resolution is _GIVEN_UP
            and not self._is_lost(fact.id)
        ):
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
