"""The rendezvous point: who offers an item, who wants it, and when its transfer starts.

Knows nothing of networks and plans: it requests one whenever a publisher or subscriber has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.offers import OFFERS_MAX, Offered, Offers
from penstock.bloomcast.controller.transfer_request import Planning, TransferRequest
from penstock.bloomcast.discovery.control import Control, Told
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import MILLISECOND, Instant, earliest
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.membership import Advertise, Subscribe, Unsubscribe
from penstock.wire.frames.cast.planning import VoidBefore
from penstock.wire.frames.cast.transfer import Stop


@dataclass(slots=True)
class _Transfer:
    """One item."""

    offers: Offers = field(default_factory=Offers)
    # By node, its SUBSCRIBE; those that came before the offer too.
    subscribers: dict[int, Origin] = field(default_factory=dict)
    is_started: bool = False


class Rendezvous:
    """All items of this rendezvous point."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        planning: Planning,
        *,
        settings: ControllerSettings,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._planning: Final = planning
        self._settings: Final = settings
        self._items: Final[dict[Item, _Transfer]] = {}
        self._timers: Final[Timers[Item]] = Timers()
        # Subscribers that have restarted, and the start: their SUBSCRIBE may be on its way.
        self._void: Final[dict[tuple[Item, int], int]] = {}
        self._void_timers: Final[Timers[tuple[Item, int]]] = Timers()

    # What nodes say.

    def on_told(self, told: Told, now: Instant) -> None:
        """A control frame has come."""
        if isinstance(told.body, Advertise):
            self._on_advertise(told.body, told, now)
        elif isinstance(told.body, Subscribe):
            self._on_subscribe(told.body, told, now)
        elif isinstance(told.body, Unsubscribe):
            self._on_unsubscribe(told.body.subscriber, told, now)
        elif isinstance(told.body, Stop):
            self._on_stop(told.body, told, now)

    def _on_advertise(self, body: Advertise, told: Told, now: Instant) -> None:
        """A publisher offers an item."""
        item, origin = told.item, told.origin
        transfer = self._transfer(item)
        if transfer is None or body.publisher != origin.node:
            return
        offers, before = transfer.offers, transfer.offers.chosen
        known = offers.of(body.publisher)
        if known is not None and _is_older(origin, known.origin):
            return
        is_chosen = before is not None and before.publisher == body.publisher
        if before is not None and not is_chosen:
            if before.body.object_id != body.object_id:
                refusal = Stop(reason="another publisher offers another object by this name")
                self._control.send_down(body.publisher, refusal, item=item, now=now)
                return
            if known is None and len(offers) >= OFFERS_MAX:
                self._out.tell(Overflow("offers"))
                return
        offers.put(Offered(body, origin, told.hops))
        if not transfer.is_started and not is_chosen:
            offers.choose()
        chosen = offers.chosen
        if chosen is None or chosen.publisher != body.publisher:
            return
        if before is None or not is_chosen or before.body.epoch != body.epoch:
            # It knows nothing of the plan of its last start.
            self._begin_anew(item, transfer, now)

    def _on_subscribe(self, body: Subscribe, told: Told, now: Instant) -> None:
        """Somebody wants an item, or says so again."""
        item, origin = told.item, told.origin
        transfer = self._transfer(item)
        if transfer is None or body.subscriber != origin.node:
            return
        known = transfer.subscribers.get(body.subscriber)
        if known is None and len(transfer.subscribers) >= self._settings.subscribers_max:
            self._out.tell(Overflow("subscribers"))
            return
        if known is None or known.boot < origin.boot:
            transfer.subscribers[body.subscriber] = origin
            self._joined(item, transfer, now)

    def _on_unsubscribe(self, subscriber: int, told: Told, now: Instant) -> None:
        """Somebody leaves, or the publisher leaves somebody behind."""
        transfer = self._items.get(told.item)
        if transfer is None:
            return
        chosen = transfer.offers.chosen
        publisher = None if chosen is None else chosen.publisher
        if told.origin.node in (subscriber, publisher):
            self._leave(told.item, transfer, subscriber, now)

    def _on_stop(self, stop: Stop, told: Told, now: Instant) -> None:
        """A publisher has ended its transfer."""
        transfer = self._items.get(told.item)
        offered = None if transfer is None else transfer.offers.of(told.origin.node)
        if transfer is None or offered is None or _is_older(told.origin, offered.origin):
            return
        if transfer.offers.remove(offered.publisher):
            # Whoever of them has not got it says so to the next.
            self._end(told.item, transfer, stop, now)

    # What the network says.

    def on_void(self, void: VoidBefore, now: Instant) -> None:
        """What a node wanted and offered before this start holds no more."""
        node, boot = void
        for item, transfer in list(self._items.items()):
            joined = transfer.subscribers.get(node)
            if joined is not None and joined.boot < boot and (item, node) not in self._void_timers:
                # It may want it again: nobody is to think that all others are all there are.
                self._void[item, node] = boot
                self._void_timers.set((item, node), now + self._settings.rejoin_ns)
            offered = transfer.offers.of(node)
            if offered is None or offered.origin.boot >= boot:
                continue
            if transfer.offers.remove(node):
                if transfer.offers.chosen is None:
                    # Subscribers may have got all of it: those who still wait say so again.
                    self._end(item, transfer, None, now)
                else:
                    self._begin_anew(item, transfer, now)

    def on_cut_off(self, item: Item, now: Instant) -> None:
        """The publisher cannot be reached: another one that has the object takes its place."""
        transfer = self._items.get(item)
        if transfer is None or transfer.offers.chosen is None or len(transfer.offers) < 2:
            return
        transfer.offers.remove(transfer.offers.chosen.publisher)
        self._begin_anew(item, transfer, now)

    def on_network_change(self, now: Instant) -> None:
        """Those who are waited for may be reached now."""
        for item, transfer in self._items.items():
            if not transfer.is_started:
                self._joined(item, transfer, now)

    def keep(self, is_own: Callable[[int], bool], now: Instant) -> None:
        """Leaves the items of other scopes to the controllers that are responsible for them."""
        for item in list(self._items):
            if not is_own(item.scope):
                self._forget(item, None, now)

    @property
    def running(self) -> int:
        """Transfers that have begun."""
        return sum(transfer.is_started for transfer in self._items.values())

    # Time.

    def wake(self, now: Instant) -> None:
        """Starts what has waited long enough, and requests plans for what has changed."""
        for key in self._void_timers.due(now):
            item, node = key
            boot, transfer = self._void.pop(key), self._items.get(item)
            joined = None if transfer is None else transfer.subscribers.get(node)
            if transfer is not None and joined is not None and joined.boot < boot:
                self._leave(item, transfer, node, now)
        for item in self._timers.due(now):
            transfer = self._items[item]
            if transfer.offers.chosen is not None:
                transfer.is_started = True
                self._planning.request(item, _request_of(transfer), now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(self._timers.next_wakeup(), self._void_timers.next_wakeup())

    # Parts of the above.

    def _transfer(self, item: Item) -> _Transfer | None:
        transfer = self._items.get(item)
        if transfer is None:
            if len(self._items) >= self._settings.items_max:
                self._out.tell(Overflow("items"))
                return None
            transfer = self._items[item] = _Transfer()
        return transfer

    def _begin_anew(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """There is another offer."""
        transfer.is_started = False
        self._timers.cancel(item)
        self._planning.pause(item, now)
        self._joined(item, transfer, now)

    def _joined(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """A publisher or subscriber has come."""
        chosen = transfer.offers.chosen
        if chosen is None or not transfer.subscribers:
            return
        offer = chosen.body
        if transfer.is_started or self._are_all_reached(transfer, offer.receivers):
            self._request_soon(item, now)
        elif item not in self._timers:
            self._timers.set(item, now + offer.wait_ms * MILLISECOND)

    def _are_all_reached(self, transfer: _Transfer, receivers: int) -> bool:
        """Whether all whom the publisher waits for are there; 0: it does not say how many."""
        if not 0 < receivers <= len(transfer.subscribers):
            return False
        return self._planning.reached(transfer.subscribers) >= receivers

    def _leave(self, item: Item, transfer: _Transfer, subscriber: int, now: Instant) -> None:
        if transfer.subscribers.pop(subscriber, None) is not None and transfer.is_started:
            self._request_soon(item, now)
        if not transfer.subscribers and not len(transfer.offers):
            self._forget(item, None, now)

    def _request_soon(self, item: Item, now: Instant) -> None:
        """Others may come at the same time."""
        at = now + self._settings.replan_delay_ns
        due_at = self._timers.deadline(item)
        if due_at is None or at < due_at:
            self._timers.set(item, at)

    def _end(self, item: Item, transfer: _Transfer, stop: Stop | None, now: Instant) -> None:
        """A transfer is over; the offers of others stay."""
        if transfer.offers.chosen is None:
            self._forget(item, stop, now)
            return
        transfer.subscribers.clear()
        transfer.is_started = False
        self._timers.cancel(item)
        self._planning.finish(item, stop, now)

    def _forget(self, item: Item, stop: Stop | None, now: Instant) -> None:
        del self._items[item]
        self._timers.cancel(item)
        self._planning.finish(item, stop, now)


def _request_of(transfer: _Transfer) -> TransferRequest:
    chosen = transfer.offers.chosen
    assert chosen is not None
    return TransferRequest(
        publisher=chosen.publisher,
        publisher_boot=chosen.origin.boot,
        epoch=chosen.body.epoch,
        subscribers=dict(transfer.subscribers),
    )


def _is_older(one: Origin, other: Origin) -> bool:
    """Of two frames of a node."""
    return (one.boot, one.number) < (other.boot, other.number)
