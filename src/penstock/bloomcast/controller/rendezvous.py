"""The rendezvous point: who offers an item, who wants it, and when its transfer starts.

Plans with the network that it is given; knows nothing of how that came about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.config_pages import config_pages, heads_to_tell
from penstock.bloomcast.controller.draft import FilterLimits
from penstock.bloomcast.controller.planner import plan_transfer
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.membership import Advertise, Subscribe
from penstock.wire.frames.cast.plan import HeadConfig

_VERSION_BITS: Final = 16
# Numbers of segments begin far away from those of the last few starts: their relays may be there
# still, and have not been told that they are none any more.
_NUMBERS_A_LIFE: Final = 0x9E37
_NUMBER_MASK: Final = 0xFFFF


@dataclass(slots=True)
class _Transfer:
    """One item."""

    offer: Advertise | None = None
    # The frame that said so.
    advertised: Origin | None = None
    # By node, its name and start; those that came before the offer too.
    subscribers: dict[int, tuple[str, int]] = field(default_factory=dict)
    is_started: bool = False
    plan: TransferPlan | None = None
    # Relays that have yet to confirm; the publisher is told when all have.
    waits_for: dict[int, None] = field(default_factory=dict)
    tells_publisher: bool = False
    # Subscribers of the plan that have left and come back, or have restarted.
    renewed: dict[int, None] = field(default_factory=dict)
    # Relays that have lost their configuration.
    forgetful: dict[int, None] = field(default_factory=dict)


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
        self._first_number: Final = out.boot * _NUMBERS_A_LIFE & _NUMBER_MASK
        self._limits: Final = FilterLimits(
            ones_max=settings.filter_ones_max, up_ones_max=settings.filter_ones_max
        )
        # The last start of each node that there is.
        self._boots: Final[dict[int, int]] = {}

    def on_advertise(self, item: Item, body: Advertise, origin: Origin, now: Instant) -> None:
        """A publisher offers an item."""
        transfer = self._transfer(item)
        if transfer is None or body.publisher != origin.node:
            return
        known = transfer.offer
        if known is not None and known.publisher != body.publisher:
            # The first one has it; another may take over when it is gone.
            return
        if transfer.advertised is not None and _is_older(origin, transfer.advertised):
            return
        transfer.offer, transfer.advertised = body, origin
        if known is None or known.epoch != body.epoch:
            # It knows nothing of the plan of its last start.
            transfer.is_started, transfer.tells_publisher = False, True
            self._joined(item, transfer, now)

    def on_subscribe(self, item: Item, body: Subscribe, origin: Origin, now: Instant) -> None:
        """Somebody wants an item, or says so again."""
        transfer = self._transfer(item)
        if transfer is None or body.subscriber != origin.node:
            return
        known = transfer.subscribers.get(body.subscriber)
        is_new = known is None
        if is_new and len(transfer.subscribers) >= self._settings.subscribers_max:
            self._out.tell(Overflow("subscribers"))
            return
        transfer.subscribers[body.subscriber] = (body.name, origin.boot)
        if is_new or (known is not None and known[1] < origin.boot):
            if transfer.plan is not None:
                transfer.renewed[body.subscriber] = None
            self._joined(item, transfer, now)

    def on_unsubscribe(self, item: Item, subscriber: int, origin: Origin, now: Instant) -> None:
        """Somebody leaves, or the publisher leaves somebody behind."""
        transfer = self._items.get(item)
        if transfer is None:
            return
        publisher = None if transfer.offer is None else transfer.offer.publisher
        if origin.node not in (subscriber, publisher):
            return
        if transfer.subscribers.pop(subscriber, None) is not None:
            if transfer.is_started:
                self._plan_soon(item, now)
            self._forget_unwanted(item, transfer)

    def on_boot(self, node: int, boot: int, now: Instant) -> None:
        """A node speaks: if it has restarted, it knows nothing of what it was before."""
        before = self._boots.get(node, boot)
        self._boots[node] = boot
        if boot > before:
            self._lose(node, boot, now)

    def on_gone(self, node: int, now: Instant) -> None:
        """A node was not heard for long; if it comes back, it says what it wants again."""
        boot = self._boots.pop(node, None)
        if boot is not None:
            self._lose(node, boot + 1, now)

    def _lose(self, node: int, boot: int, now: Instant) -> None:
        """What a node wanted, offered and knew before this start is void."""
        for item, transfer in list(self._items.items()):
            subscribed = transfer.subscribers.get(node)
            if subscribed is not None and subscribed[1] < boot:
                del transfer.subscribers[node]
                if transfer.is_started:
                    self._plan_soon(item, now)
            advertised = transfer.advertised
            if advertised is not None and advertised.node == node and advertised.boot < boot:
                # Subscribers may have got all of it and be gone: those who still wait say so again.
                transfer.subscribers.clear()
                transfer.offer = transfer.advertised = None
                transfer.is_started = False
                self._timers.cancel(item)
            elif transfer.plan is not None and node in transfer.plan.relays:
                transfer.forgetful[node] = None
                if transfer.is_started:
                    self._plan_soon(item, now)
            self._forget_unwanted(item, transfer)

    def _forget_unwanted(self, item: Item, transfer: _Transfer) -> None:
        if transfer.offer is None and not transfer.subscribers:
            self._forget(item, transfer)

    def _forget(self, item: Item, transfer: _Transfer) -> None:
        if transfer.plan is not None:
            for node in transfer.plan.heads:
                self._control.withdraw(HeadConfig, item=item, to=node)
        del self._items[item]
        self._timers.cancel(item)

    def on_stopped(self, item: Item, origin: Origin) -> None:
        """The transfer is over."""
        transfer = self._items.get(item)
        if transfer is None or transfer.advertised is None:
            return
        if origin.node == transfer.advertised.node and not _is_older(origin, transfer.advertised):
            self._forget(item, transfer)

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

    def on_given_up(self, to: int, body: CastBody, item: Item, now: Instant) -> None:
        """A head that has not answered is told again for as long as the plan needs it."""
        transfer = self._items.get(item)
        if transfer is None or transfer.plan is None or not isinstance(body, HeadConfig):
            return
        if transfer.is_started and to in transfer.plan.heads:
            if to == transfer.plan.publisher:
                transfer.tells_publisher = True
            else:
                transfer.waits_for.pop(to, None)
                self._tell(item, transfer.plan, to, now)

    @property
    def running(self) -> int:
        """Transfers that have begun."""
        return sum(transfer.is_started for transfer in self._items.values())

    def plan_of(self, item: Item) -> TransferPlan | None:
        """The latest plan of an item; None before its transfer starts."""
        transfer = self._items.get(item)
        return None if transfer is None else transfer.plan

    def wake(self, now: Instant) -> None:
        """Starts what has waited long enough, and plans what has changed."""
        for item in self._timers.due(now):
            transfer = self._items[item]
            if transfer.offer is not None:
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
        plan = plan_transfer(
            self._network(),
            offer.publisher,
            transfer.subscribers,
            relay_choice=self._settings.relay_choice,
            previous=None if old is None or old.publisher != offer.publisher else old,
            first_number=self._first_number if old is None else old.next_number,
            hub_limits=self._limits,
            renewed=transfer.renewed,
        )
        transfer.plan = plan
        transfer.renewed.clear()
        for node in list(transfer.waits_for):
            if node not in plan.heads:
                del transfer.waits_for[node]
        forgetful = [node for node in transfer.forgetful if node in plan.heads]
        transfer.forgetful.clear()
        for node in dict.fromkeys([*heads_to_tell(old, plan), *forgetful]):
            if node == plan.publisher:
                transfer.tells_publisher = True
                continue
            self._tell(item, plan, node, now)
            if node in plan.heads:
                transfer.waits_for[node] = None
        self._tell_publisher(item, transfer, now)

    def _tell(self, item: Item, plan: TransferPlan, node: int, now: Instant) -> None:
        self._version += 1
        self._control.withdraw(HeadConfig, item=item, to=node)
        for page in config_pages(plan, node, version=self._version):
            self._control.send_down(node, page, item=item, now=now)

    def _tell_publisher(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """Tells it as soon as all relays are ready, or do not answer."""
        plan = transfer.plan
        for node in list(transfer.waits_for):
            if not self._control.is_unanswered(node):
                del transfer.waits_for[node]
        if plan is None or transfer.waits_for or not transfer.tells_publisher:
            return
        if transfer.is_started:
            transfer.tells_publisher = False
            self._tell(item, plan, plan.publisher, now)


def _is_older(one: Origin, other: Origin) -> bool:
    """Of two frames of a node."""
    return (one.boot, one.number) < (other.boot, other.number)
