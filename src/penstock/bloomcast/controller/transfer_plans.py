"""The topology manager's part of transfers: plans them, and tells relays first, then publishers.

Knows nothing of how a transfer came about, nor of who waits for it to begin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.config_pages import config_pages, heads_to_tell
from penstock.bloomcast.controller.draft import FilterLimits
from penstock.bloomcast.controller.network_map import NetworkMap
from penstock.bloomcast.controller.planner import plan_transfer
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.transfer_request import TransferRequest
from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.item_names import LOCAL_SCOPE
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import FAILED_MAX, CastBody, Item
from penstock.wire.frames.cast.plan import HeadConfig
from penstock.wire.frames.cast.transfer import Stop

_VERSION_BITS: Final = 16
# Numbers of segments begin far away from those of the last few starts: their relays may be there
# still, and have not been told that they are none any more.
_NUMBERS_A_LIFE: Final = 0x9E37
_NUMBER_MASK: Final = 0xFFFF


@dataclass(slots=True)
class _Transfer:
    """One that runs."""

    request: TransferRequest
    plan: TransferPlan | None = None
    # Relays that have yet to confirm; the publisher is told when all have.
    waits_for: dict[int, None] = field(default_factory=dict)
    tells_publisher: bool = True
    # The publisher has begun anew: the next request says with whom.
    is_paused: bool = False
    # Relays that have lost their configuration.
    forgetful: dict[int, None] = field(default_factory=dict)


class TransferPlans:
    """All transfers that this topology manager plans."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        network_map: NetworkMap,
        *,
        settings: ControllerSettings,
        # No way leads to the publisher any more.
        on_cut_off: Callable[[Item, Instant], None],
    ) -> None:
        self._node: Final = out.node
        self._control: Final = control
        self._map: Final = network_map
        self._settings: Final = settings
        self._on_cut_off: Final = on_cut_off
        self._transfers: Final[dict[Item, _Transfer]] = {}
        self._timers: Final[Timers[Item]] = Timers()
        # Rises across restarts, so that no head takes an old configuration for a new one.
        self._version = (out.boot << _VERSION_BITS) & 0xFFFF_FFFF
        self._first_number = out.boot * _NUMBERS_A_LIFE & _NUMBER_MASK
        self._limits: Final = FilterLimits(
            ones_max=settings.filter_ones_max, up_ones_max=settings.filter_ones_max
        )

    def __len__(self) -> int:
        return len(self._transfers)

    def plan_of(self, item: Item) -> TransferPlan | None:
        """The latest plan of an item; None before its transfer starts."""
        transfer = self._transfers.get(item)
        return None if transfer is None else transfer.plan

    def request_of(self, item: Item) -> TransferRequest | None:
        """What is planned."""
        transfer = self._transfers.get(item)
        return None if transfer is None else transfer.request

    def reached(self, nodes: Collection[int]) -> int:
        """How many nodes have links that are known: of others only SUBSCRIBE has come so far."""
        return self._map.reached(nodes)

    # What the rendezvous point wants.

    def request(self, item: Item, request: TransferRequest, now: Instant) -> None:
        """Plans a transfer, or plans it anew."""
        transfer = self._transfers.get(item)
        if transfer is None:
            transfer = self._transfers[item] = _Transfer(request)
        before, transfer.request, transfer.is_paused = transfer.request, request, False
        if not request.is_same_offer(before):
            transfer.tells_publisher = True
        renewed = {
            node: None
            for node, joined in request.subscribers.items()
            if before.subscribers.get(node) != joined
        }
        self._plan(item, transfer, now, renewed)

    def pause(self, item: Item, now: Instant) -> None:  # noqa: ARG002
        """Its publisher has begun anew, and is told nothing before the next request."""
        transfer = self._transfers.get(item)
        if transfer is not None:
            transfer.is_paused = True
            self._timers.cancel(item)

    def finish(self, item: Item, stop: Stop | None, now: Instant) -> None:
        """It is over; the publisher is told who hangs below the relays that it lost."""
        transfer = self._transfers.pop(item, None)
        if transfer is None:
            return
        self._timers.cancel(item)
        plan = transfer.plan
        if plan is None:
            return
        # What comes next meets no packets of this one under its numbers.
        self._first_number = plan.next_number
        for node in plan.heads:
            self._control.withdraw(HeadConfig, item=item, to=node)
        if stop is not None and stop.failed:
            named = _who_failed(stop, plan, transfer.request)
            answer = Stop(done=stop.done, failed=tuple(named[:FAILED_MAX]))
            self._control.send_down(plan.publisher, answer, item=item, now=now)

    # What becomes of the network.

    def on_network_change(self, now: Instant) -> None:
        """Links came or went: running transfers may have to go elsewhere."""
        for item, transfer in list(self._transfers.items()):
            self._plan_soon(item, transfer, now)
            if not self._map.reached([transfer.request.publisher]):
                self._on_cut_off(item, now)

    def on_restart(self, node: int, now: Instant) -> None:
        """A node knows nothing of what it was before."""
        for item, transfer in self._transfers.items():
            if transfer.plan is not None and node in transfer.plan.relays:
                transfer.forgetful[node] = None
                self._plan_soon(item, transfer, now)

    # What heads answer.

    def on_confirmed(self, now: Instant) -> None:
        """A relay has its configuration: when all have, the publisher may begin."""
        for item, transfer in self._transfers.items():
            if transfer.tells_publisher:
                self._tell_publisher(item, transfer, now)

    def on_given_up(self, to: int, body: CastBody, item: Item, now: Instant) -> None:
        """A head that has not answered is told again for as long as the plan needs it."""
        transfer = self._transfers.get(item)
        if transfer is None or transfer.plan is None or not isinstance(body, HeadConfig):
            return
        if transfer.is_paused or to not in transfer.plan.heads:
            return
        if to == transfer.plan.publisher:
            transfer.tells_publisher = True
        else:
            transfer.waits_for.pop(to, None)
            self._tell(item, transfer.plan, to, now)

    def wake(self, now: Instant) -> None:
        """Plans what has changed."""
        for item in self._timers.due(now):
            self._plan(item, self._transfers[item], now, {})

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._timers.next_wakeup()

    # Parts of the above.

    def _plan_soon(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """Others may change at the same time."""
        if item not in self._timers and not transfer.is_paused:
            self._timers.set(item, now + self._settings.replan_delay_ns)

    def _plan(
        self, item: Item, transfer: _Transfer, now: Instant, renewed: dict[int, None]
    ) -> None:
        self._timers.cancel(item)
        request, old = transfer.request, transfer.plan
        plan = plan_transfer(
            self._map.network(),
            request.publisher,
            request.subscribers,
            relay_choice=self._settings.relay_choice,
            previous=None if old is None or old.publisher != request.publisher else old,
            first_number=self._first_number if old is None else old.next_number,
            hub_limits=self._limits,
            renewed=renewed,
            is_local=item.scope == LOCAL_SCOPE,
        )
        transfer.plan = plan
        for node in list(transfer.waits_for):
            if node not in plan.heads:
                del transfer.waits_for[node]
        forgetful = [node for node in transfer.forgetful if node in plan.heads]
        transfer.forgetful.clear()
        for node in dict.fromkeys([*heads_to_tell(old, plan), *forgetful]):
            if node == plan.publisher:
                transfer.tells_publisher = True
                continue
            was_publisher = old is not None and node == old.publisher
            self._tell(item, plan, node, now, was_publisher=was_publisher)
            if node in plan.heads:
                transfer.waits_for[node] = None
        self._tell_publisher(item, transfer, now)

    def _tell(
        self,
        item: Item,
        plan: TransferPlan,
        node: int,
        now: Instant,
        *,
        was_publisher: bool = False,
    ) -> None:
        self._version += 1
        self._control.withdraw(HeadConfig, item=item, to=node)
        for page in config_pages(
            plan,
            node,
            version=self._version,
            controller=self._node,
            was_publisher=was_publisher,
        ):
            self._control.send_down(node, page, item=item, now=now)

    def _tell_publisher(self, item: Item, transfer: _Transfer, now: Instant) -> None:
        """Tells it as soon as all relays are ready, or do not answer."""
        plan = transfer.plan
        for node in list(transfer.waits_for):
            if not self._control.is_unanswered(node):
                del transfer.waits_for[node]
        if plan is None or transfer.waits_for or not transfer.tells_publisher:
            return
        if not transfer.is_paused:
            transfer.tells_publisher = False
            self._tell(item, plan, plan.publisher, now)


def _who_failed(stop: Stop, plan: TransferPlan, request: TransferRequest) -> list[int]:
    """Those who are missing: below relays if more are than the publisher has named."""
    known = [node for node in stop.failed if node in request.subscribers or node in plan.heads]
    if len(known) >= len(request.subscribers) - stop.done:
        # A relay that is named is a subscriber too.
        return [*stop.failed]
    found: dict[int, None] = {}
    for node in stop.failed:
        found.update(dict.fromkeys(_subscribers_at(node, plan, request)))
    return [*found]


def _subscribers_at(node: int, plan: TransferPlan, request: TransferRequest) -> list[int]:
    """A subscriber itself; of a relay, all that hang below it."""
    found: dict[int, None] = {}
    waiting = [node]
    while waiting:
        at = waiting.pop()
        head = plan.heads.get(at)
        if at in request.subscribers or head is None:
            # One that is not in the plan any more was left behind.
            found[at] = None
        if head is not None:
            waiting += [end.node for each in head.segments for end in plan.segments[each].ends]
    return sorted(found)
