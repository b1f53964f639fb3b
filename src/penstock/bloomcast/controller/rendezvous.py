"""The rendezvous point: who offers an item, who wants it, and when its transfer starts.

Plans with the network that it is given; knows nothing of how that came about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.config_pages import config_pages, heads_to_tell
from penstock.bloomcast.controller.planner import plan_transfer
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.membership import Advertise, Subscribe

_VERSION_BITS: Final = 16


@dataclass(slots=True)
class _Transfer:
    """One item."""

    offer: Advertise | None = None
    # By node, its name; those that came before the offer too.
    subscribers: dict[int, str] = field(default_factory=dict)
    is_started: bool = False
    plan: TransferPlan | None = None
    # Relays that have yet to confirm; the publisher is told when all have.
    waits_for: dict[int, None] = field(default_factory=dict)
    tells_publisher: bool = False


class Rendezvous:
    """All items of this controller."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        *,
        network: Callable[[], TaggedNetwork],
        settings: ControllerSettings,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._network: Final = network
        self._settings: Final = settings
        self._items: Final[dict[Item, _Transfer]] = {}
        self._timers: Final[Timers[Item]] = Timers()
        # Rises across restarts, so that no head takes an old configuration for a new one.
        self._version = (out.boot << _VERSION_BITS) & 0xFFFF_FFFF

    def on_advertise(self, item: Item, body: Advertise, now: Instant) -> None:
        """A publisher offers an item."""
        transfer = self._transfer(item)
        if transfer is None:
            return
        known = transfer.offer
        if known is not None and known.publisher != body.publisher:
            # The first one has it; another may take over when it is gone.
            return
        transfer.offer = body
        if known is None or known.epoch != body.epoch:
            transfer.is_started, transfer.plan = False, None
            self._joined(item, transfer, now)

    def on_subscribe(self, item: Item, body: Subscribe, now: Instant) -> None:
        """Somebody wants an item, or says so again."""
        transfer = self._transfer(item)
        if transfer is None or body.subscriber in transfer.subscribers:
            return
        if len(transfer.subscribers) >= self._settings.subscribers_max:
            self._out.tell(Overflow("subscribers"))
            return
        transfer.subscribers[body.subscriber] = body.name
        self._joined(item, transfer, now)

    def on_unsubscribe(self, item: Item, subscriber: int, now: Instant) -> None:
        """Somebody leaves."""
        transfer = self._items.get(item)
        if transfer is not None and transfer.subscribers.pop(subscriber, None) is not None:
            if transfer.is_started:
                self._plan_soon(item, now)
            elif transfer.offer is None and not transfer.subscribers:
                del self._items[item]

    def on_stopped(self, item: Item) -> None:
        """The transfer is over."""
        self._items.pop(item, None)
        self._timers.cancel(item)

    def on_network_change(self, now: Instant) -> None:
        """Links came or went: running transfers may have to go elsewhere."""
        for item, transfer in self._items.items():
            if transfer.is_started:
                self._plan_soon(item, now)
            else:
                self._joined(item, transfer, now)

    def on_confirmed(self, now: Instant) -> None:
        """A relay has its configuration: when all have, the publisher may begin."""
        for item, transfer in self._items.items():
            if transfer.tells_publisher:
                self._tell_publisher(item, transfer, now)

    def wake(self, now: Instant) -> None:
        """Starts what has waited long enough, and plans what has changed."""
        for item in self._timers.due(now):
            transfer = self._items[item]
            transfer.is_started = True
            self._plan(item, transfer, now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._timers.next_wakeup()

    def _transfer(self, item: Item) -> _Transfer | None:
        transfer = self._items.get(item)
        if transfer is None:
            if len(self._items) >= self._settings.items_max:
                self._out.tell(Overflow("items"))
                return None
            transfer = self._items[item] = _Transfer()
        return transfer

    def _joined(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """A publisher or subscriber has come."""
        offer = transfer.offer
        if offer is None or not transfer.subscribers:
            return
        if transfer.is_started or self._reached(transfer) >= offer.receivers > 0:
            self._plan_soon(item, now)
        elif item not in self._timers:
            self._timers.set(item, now + offer.wait_ms * MILLISECOND)

    def _reached(self, transfer: _Transfer) -> int:
        """Subscribers whose links are known: of others only SUBSCRIBE has come so far."""
        ways = self._network().network.ways
        return sum(bool(ways.get(node)) for node in transfer.subscribers)

    def _plan_soon(self, item: Item, now: Instant) -> None:
        """Others may come at the same time."""
        at = now + self._settings.replan_delay_ns
        due_at = self._timers.deadline(item)
        if due_at is None or at < due_at:
            self._timers.set(item, at)

    def _plan(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        offer, old = transfer.offer, transfer.plan
        assert offer is not None
        plan = plan_transfer(self._network(), offer.publisher, transfer.subscribers, previous=old)
        transfer.plan = plan
        for node in heads_to_tell(old, plan):
            if node == plan.publisher:
                transfer.tells_publisher = True
                continue
            self._version += 1
            for page in config_pages(plan, node, version=self._version):
                self._control.send_down(node, page, item=item, now=now)
            if node in plan.heads:
                transfer.waits_for[node] = None
        self._tell_publisher(item, transfer, now)

    def _tell_publisher(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """Tells it as soon as all relays are ready, or do not answer."""
        plan = transfer.plan
        for node in list(transfer.waits_for):
            if not self._control.is_unanswered(node):
                del transfer.waits_for[node]
        if plan is None or transfer.waits_for or not transfer.tells_publisher:
            return
        transfer.tells_publisher = False
        self._version += 1
        for page in config_pages(plan, plan.publisher, version=self._version):
            self._control.send_down(plan.publisher, page, item=item, now=now)
