"""A rendezvous point's side of TM_REQ and TM_REP: its transfers are planned at another node.

The topology manager with the lowest id plans. It is told everything again every few seconds, and
at once when it has restarted or another one takes its place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from penstock.bloomcast.controller.transfer_request import TransferRequest
from penstock.bloomcast.discovery.control import Control, Told
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import PAGES_MAX, Item
from penstock.wire.frames.cast.planning import SUBSCRIBERS_A_PAGE_MAX, PlanReply, PlanRequest
from penstock.wire.frames.cast.transfer import Stop

_SUBSCRIBERS_MAX: Final = SUBSCRIBERS_A_PAGE_MAX * PAGES_MAX


class RemoteTopology:
    """Has transfers planned, as `TransferPlans` does in one process."""

    def __init__(
        self, out: Outbox, control: Control, uplinks: Uplinks, *, settings: ControllerSettings
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._uplinks: Final = uplinks
        self._settings: Final = settings
        self._requests: Final[dict[Item, TransferRequest]] = {}
        # By item, the version that was said last; a version is never used twice.
        self._versions: Final[dict[Item, int]] = {}
        self._version = 0
        self._timers: Final[Timers[Item]] = Timers()

    def request(self, item: Item, request: TransferRequest, now: Instant) -> None:
        """Has a transfer planned, or planned anew."""
        self._requests[item] = request
        self._version += 1
        self._versions[item] = self._version
        self._say(item, now)

    def pause(self, item: Item, now: Instant) -> None:
        """Its publisher has begun anew: so does the plan."""
        self.finish(item, None, now)

    def finish(self, item: Item, stop: Stop | None, now: Instant) -> None:
        """It is over; the topology manager answers the publisher itself."""
        if self._requests.pop(item, None) is None:
            return
        del self._versions[item]
        self._timers.cancel(item)
        self._control.withdraw(PlanRequest, item=item)
        manager = self._manager()
        if manager is not None:
            self._control.send_up(stop or Stop(), item=item, to=manager, now=now)

    def reached(self, nodes: Collection[int]) -> int:
        """Without a map all nodes may be; the topology manager waits for those that are not."""
        return len(nodes)

    def is_current(self, told: Told) -> bool:
        """Whether a reply is to what was requested last."""
        body = told.body
        if not isinstance(body, PlanReply):
            return False
        is_manager = told.origin.node == self._manager()
        return is_manager and self._versions.get(told.item) == body.version

    def on_controller(self, now: Instant) -> None:
        """There is another topology manager, or it has restarted."""
        for item in self._requests:
            self._say(item, now)

    def wake(self, now: Instant) -> None:
        """Says again what is still wanted."""
        for item in self._timers.due(now):
            self._say(item, now)

    def next_wakeup(self) -> Instant | None:
        """When something is said again."""
        return self._timers.next_wakeup()

    def _manager(self) -> int | None:
        managers = self._uplinks.topology_managers()
        return managers[0] if managers else None

    def _say(self, item: Item, now: Instant) -> None:
        self._timers.set(item, now + self._settings.request_ns)
        self._control.withdraw(PlanRequest, item=item)
        manager = self._manager()
        if manager is None:
            return
        # A Stop of an earlier transfer must not overtake it.
        self._control.withdraw(Stop, item=item, to=manager)
        request = self._requests[item]
        joined = [*request.subscribers.values()]
        if len(joined) > _SUBSCRIBERS_MAX:
            self._out.tell(Overflow("subscribers of a request"))
            del joined[_SUBSCRIBERS_MAX:]
        pages = max(1, -(-len(joined) // SUBSCRIBERS_A_PAGE_MAX))
        for page in range(pages):
            at = page * SUBSCRIBERS_A_PAGE_MAX
            body = PlanRequest(
                version=self._versions[item],
                page=page,
                pages=pages,
                publisher=request.publisher,
                publisher_boot=request.publisher_boot,
                epoch=request.epoch,
                subscribers=tuple(joined[at : at + SUBSCRIBERS_A_PAGE_MAX]),
            )
            self._control.send_up(body, item=item, to=manager, now=now)
