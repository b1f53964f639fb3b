"""A topology manager's side of TM_REQ and TM_REP: plans for rendezvous points without a map.

Whoever stops asking is forgotten. A request is planned when all that it names are reached, or after
a while: this node may have restarted, and its map may not be complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.network_map import NetworkMap
from penstock.bloomcast.controller.transfer_plans import TransferPlans
from penstock.bloomcast.controller.transfer_request import TransferRequest
from penstock.bloomcast.discovery.control import Control, Told
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.planning import VOID_MAX, PlanReply, PlanRequest, VoidBefore
from penstock.wire.frames.cast.transfer import Stop


@dataclass(slots=True)
class _Asked:
    """What a rendezvous point wants of one item."""

    asker: int
    boot: int
    heard_at: Instant
    version: int = -1
    # Of a version that is not complete yet.
    pages: dict[int, PlanRequest] = field(default_factory=dict)
    # Complete, until all that it names are reached, or until then.
    waiting: TransferRequest | None = None
    wait_until: Instant | None = None


class PlanService:
    """All requests of other nodes."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        network_map: NetworkMap,
        plans: TransferPlans,
        *,
        settings: ControllerSettings,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._map: Final = network_map
        self._plans: Final = plans
        self._settings: Final = settings
        self._asked: Final[dict[Item, _Asked]] = {}

    def __contains__(self, item: Item) -> bool:
        return item in self._asked

    def on_request(self, body: PlanRequest, told: Told, now: Instant) -> None:
        """A page of a request."""
        asked = self._asked_by(told, now)
        if asked is None or body.version < asked.version:
            return
        asked.heard_at = now
        if body.version > asked.version:
            asked.version, asked.waiting = body.version, None
            asked.pages.clear()
        elif not asked.pages:
            # Complete before: it is repeated, so that it is not forgotten.
            return
        asked.pages[body.page] = body
        if len(asked.pages) == body.pages:
            request = _merge([*asked.pages.values()])
            asked.pages.clear()
            self._reply_if_void(told.item, asked, request, now)
            if told.item in self._asked:
                asked.waiting = request
                asked.wait_until = now + self._settings.wait_ns
                self._plan_if_reached(told.item, asked, now)

    def on_stop(self, stop: Stop, told: Told, now: Instant) -> None:
        """A transfer is over."""
        asked = self._asked.get(told.item)
        if asked is not None and asked.asker == told.origin.node:
            self._forget(told.item, stop, now)

    def on_void(self, void: VoidBefore, now: Instant) -> None:
        """A node has restarted, or is gone: rendezvous points whose transfers it is in are told."""
        for item, asked in list(self._asked.items()):
            request = asked.waiting or self._plans.request_of(item)
            if request is None:
                continue
            joined = request.subscribers.get(void.node)
            is_subscriber = joined is not None and joined.boot < void.boot
            is_publisher = request.publisher == void.node and request.publisher_boot < void.boot
            if is_subscriber or is_publisher:
                self._reply(item, asked, now, void=(void,))

    def on_cut_off(self, item: Item, now: Instant) -> None:
        """No way leads to the publisher."""
        asked = self._asked.get(item)
        if asked is not None:
            self._reply(item, asked, now, is_cut_off=True)

    def on_network_change(self, now: Instant) -> None:
        """Those who are waited for may be reached now."""
        for item, asked in self._asked.items():
            self._plan_if_reached(item, asked, now)

    def forget_all(self, now: Instant) -> None:
        """Another node plans from now on."""
        for item in list(self._asked):
            self._forget(item, None, now)

    def wake(self, now: Instant) -> None:
        """Plans what has waited long enough, and forgets what nobody asks for."""
        for item, asked in list(self._asked.items()):
            self._plan_if_reached(item, asked, now)
            if now - asked.heard_at >= self._settings.request_forget_ns:
                self._forget(item, None, now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        forget_ns = self._settings.request_forget_ns
        return earliest(
            *[asked.wait_until for asked in self._asked.values() if asked.waiting is not None],
            *[asked.heard_at + forget_ns for asked in self._asked.values()],
        )

    def _asked_by(self, told: Told, now: Instant) -> _Asked | None:
        node, boot, _ = told.origin
        asked = self._asked.get(told.item)
        if asked is None:
            if len(self._asked) >= self._settings.items_max:
                self._out.tell(Overflow("requests"))
                return None
        elif (asked.asker, asked.boot) == (node, boot):
            return asked
        # Versions of another node, or of another start, are counted from 0.
        asked = self._asked[told.item] = _Asked(node, boot, now)
        return asked

    def _plan_if_reached(self, item: Item, asked: _Asked, now: Instant) -> None:
        request = asked.waiting
        if request is None or asked.wait_until is None:
            return
        nodes = {request.publisher: None, **dict.fromkeys(request.subscribers)}
        is_running = self._plans.request_of(item) is not None
        if is_running or self._map.reached(nodes) == len(nodes) or asked.wait_until <= now:
            asked.waiting = None
            self._plans.request(item, request, now)

    def _reply_if_void(
        self, item: Item, asked: _Asked, request: TransferRequest, now: Instant
    ) -> None:
        """What was said before the last start of its node holds no more."""
        boots = {node: joined.boot for node, joined in request.subscribers.items()}
        boots[request.publisher] = request.publisher_boot
        void = [
            VoidBefore(node, self._map.boot_of(node))
            for node, boot in boots.items()
            if boot < self._map.boot_of(node)
        ]
        if void:
            self._reply(item, asked, now, void=tuple(void[:VOID_MAX]))

    def _reply(
        self,
        item: Item,
        asked: _Asked,
        now: Instant,
        *,
        void: tuple[VoidBefore, ...] = (),
        is_cut_off: bool = False,
    ) -> None:
        body = PlanReply(version=asked.version, is_publisher_cut_off=is_cut_off, void=void)
        self._control.send_down(asked.asker, body, item=item, now=now)

    def _forget(self, item: Item, stop: Stop | None, now: Instant) -> None:
        asked = self._asked.pop(item)
        self._control.withdraw(PlanReply, item=item, to=asked.asker)
        self._plans.finish(item, stop, now)


def _merge(pages: list[PlanRequest]) -> TransferRequest:
    first = pages[0]
    return TransferRequest(
        publisher=first.publisher,
        publisher_boot=first.publisher_boot,
        epoch=first.epoch,
        subscribers={each.node: each for page in pages for each in page.subscribers},
    )
