"""What takes part in transfers at one node: publishers, subscribers and relay points."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.discovery.control import Control, Told
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.replay_window import ReplayWindow
from penstock.bloomcast.facts import Held, Offer, OfferRefused, TransferStopped
from penstock.bloomcast.machines import MACHINES, AnyPublisher, AnySubscriber
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.publisher import Phase, Publisher
from penstock.bloomcast.router.transfers import RelayPoints
from penstock.bloomcast.segment.segment_head import Forward
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.base import CastBody, Item
from penstock.wire.frames.cast.membership import Advertise, ObjectKind, Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, Start
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import FirstRequest, Stop

# Of a subscriber whose own node sends what it wants.
SENT_BY_THIS_NODE: Final = "this node sends it itself"


class Participants:
    """By item."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        ports: Ports,
        *,
        name: str,
        is_router: bool,
        settings: CastSettings,
        seeds: Seeds,
        forward: Forward,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._ports: Final = ports
        self._name: Final = name
        self._is_router: Final = is_router
        self._settings: Final = settings
        self._seeds: Final = seeds
        self._forward: Final = forward
        self._machines: Final = MACHINES[settings.variant]
        self.relays: Final = RelayPoints(out, settings=settings, forward=forward)
        self.publishers: Final[dict[Item, AnyPublisher]] = {}
        self.subscribers: Final[dict[Item, AnySubscriber]] = {}
        # Offers that wait until the controller knows that the last transfer of their item is over.
        self._held_offers: Final[dict[Item, Advertise]] = {}
        # Frames of transfers that were taken here.
        self._seen: Final = ReplayWindow(
            window=settings.discovery.replay_window, senders_max=settings.discovery.senders_max
        )
        # Frames that had come before.
        self.replayed = 0

    # What the application wants.

    def publish(self, offer: Offer, now: Instant) -> None:
        """Offers an object."""
        before = self.publishers.get(offer.item)
        assert before is None or before.phase is Phase.STOPPED, offer.item
        self.publishers[offer.item] = self._machines.publisher(
            self._out,
            offer,
            settings=self._settings,
            forward=self._forward,
            send_up=lambda body, at: self._say_up(body, offer.item, at),
        )
        self.publishers[offer.item].advertise(now)
        if offer.item in self.subscribers:
            # Nobody would send it anything.
            self.leave(offer.item, SENT_BY_THIS_NODE, now)
            self._out.tell(TransferStopped(offer.item, SENT_BY_THIS_NODE))

    def withdraw(self, item: Item, reason: str, now: Instant) -> None:
        """Ends what is published before all have it."""
        publisher = self.publishers.get(item)
        if isinstance(publisher, Publisher):
            publisher.withdraw(reason, now)

    def stream(self, item: Item) -> Publisher | None:
        """The publisher of a stream that is offered here, unless it is over."""
        publisher = self.publishers.get(item)
        if not isinstance(publisher, Publisher) or publisher.phase is Phase.STOPPED:
            return None
        return publisher if publisher.offer.kind is ObjectKind.STREAM else None

    def subscribe(self, item: Item, kind: ObjectKind, held: Held | None, now: Instant) -> None:
        """Wants an object of a kind, of a file but for the blocks that it has."""
        self._control.withdraw(Unsubscribe, item=item)
        assert item not in self.subscribers, item
        publisher = self.publishers.get(item)
        if publisher is not None and publisher.phase is not Phase.STOPPED:
            self._out.tell(TransferStopped(item, SENT_BY_THIS_NODE))
            return
        self.subscribers[item] = self._machines.subscriber(
            self._out,
            self._control,
            item,
            name=self._name,
            settings=self._settings.subscriber,
            rate=self._settings.rate,
            seeds=self._seeds.child("subscriber", str(item)),
            send=self._send_back,
            kind=kind,
            held=held,
            now=now,
        )

    def leave(self, item: Item, reason: str, now: Instant) -> None:
        """Does not want it any more."""
        subscriber = self.subscribers.pop(item, None)
        if subscriber is not None:
            subscriber.leave(reason, now)

    # Packets.

    def take(self, packet: Packet, via: Port, now: Instant) -> None:
        """A packet of a transfer: hands it to whoever takes part here."""
        header, body = packet.header, packet.body
        if not self._takes_part(header.item):
            return
        if packet.origin is not None and not self._seen.is_new(packet.origin):
            self.replayed += 1
            return
        if isinstance(body, Report | FirstRequest | AllowedRate):
            publisher = self.publishers.get(header.item)
            if publisher is not None and publisher.head.has_segment(header.segment):
                if isinstance(body, Report):
                    publisher.on_report(header, body, now)
                elif isinstance(body, AllowedRate):
                    publisher.on_rate(header, body, now)
                else:
                    publisher.on_first_request(body, now)
                return
        else:
            subscriber = self.subscribers.get(header.item)
            if subscriber is not None:
                subscriber.on_packet(packet, via, now)
                self._forget_stopped(header.item, subscriber)
        if self._is_router:
            is_subscribed = header.item in self.subscribers
            self.relays.on_packet(packet, now, is_subscribed=is_subscribed)

    def _takes_part(self, item: Item) -> bool:
        return item in self.publishers or item in self.subscribers or item in self.relays

    def _forget_stopped(self, item: Item, subscriber: AnySubscriber) -> None:
        if subscriber.is_stopped and self.subscribers.get(item) is subscriber:
            del self.subscribers[item]

    def _send_back(self, packet: Packet, port: Port, now: Instant) -> None:
        """What a subscriber here says to a head."""
        is_report = isinstance(packet.body, Report | AllowedRate)
        if is_report and self.relays.takes_reports_for(packet.header):
            self.relays.on_local_report(packet, now)
        elif port in self._ports:
            self._out.send(port, packet)

    # Controllers.

    def _say_up(self, body: CastBody, item: Item, now: Instant) -> None:
        """What a publisher says to the controller; its latest offer counts.

        It waits for STOP of the one before: without, whoever has got that and is gone is planned
        for, and given up.
        """
        if isinstance(body, Advertise) and self._control.is_saying(Stop, item):
            self._held_offers[item] = body
            return
        if isinstance(body, Advertise | Stop):
            self._control.withdraw(Advertise, item=item)
        self._control.send_up(body, item=item, now=now)

    def on_controller(self, now: Instant) -> None:
        """One that knows nothing of this node yet."""
        for publisher in self.publishers.values():
            publisher.advertise(now)
        for subscriber in self.subscribers.values():
            subscriber.on_controller(now)

    def on_settled(self, now: Instant) -> None:
        """A controller has answered, or was given up."""
        for item in [*self._held_offers]:
            if not self._control.is_saying(Stop, item):
                self._say_up(self._held_offers.pop(item), item, now)

    def on_told(self, told: Told, now: Instant) -> None:
        """A controller has something to say."""
        body, item = told.body, told.item
        publisher = self.publishers.get(item)
        if isinstance(body, RelayConfig):
            self.relays.configure(item, body, now)
        elif publisher is None:
            return
        elif isinstance(body, Start):
            # While an offer is held, the plan is that of the last transfer.
            if publisher.phase is not Phase.STOPPED and item not in self._held_offers:
                publisher.configure(body, now)
        elif isinstance(body, Stop):
            if not body.reason:
                if isinstance(publisher, Publisher):
                    publisher.outcome.named(body.failed)
            elif publisher.phase is Phase.WAITING:
                del self.publishers[item]
                self._control.withdraw(Advertise, item=item)
                self._out.tell(OfferRefused(item, body.reason))

    def on_given_up(self, told: Told, now: Instant) -> None:
        """What was not answered is said again, for as long as it is true."""
        body, item = told.body, told.item
        publisher, subscriber = self.publishers.get(item), self.subscribers.get(item)
        if isinstance(body, Advertise) and publisher is not None:
            publisher.on_unanswered(now)
        elif isinstance(body, Subscribe) and subscriber is not None:
            subscriber.on_unanswered(now)
        elif isinstance(body, Stop | Unsubscribe):
            self._control.send_up(body, item=item, now=now)

    # Time.

    def wake(self, now: Instant) -> None:
        """Runs all timers that are due."""
        self.relays.wake(now)
        for item, publisher in list(self.publishers.items()):
            publisher.wake(now)
            if publisher.is_gone:
                del self.publishers[item]
        for item, subscriber in list(self.subscribers.items()):
            subscriber.wake(now)
            self._forget_stopped(item, subscriber)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(
            self.relays.next_wakeup(),
            *[publisher.next_wakeup() for publisher in self.publishers.values()],
            *[subscriber.next_wakeup() for subscriber in self.subscribers.values()],
        )
