"""TM_REQ from a rendezvous point without a map, and what the topology manager makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from penstock.bloomcast.controller.network_map import NetworkMap
from penstock.bloomcast.controller.plan_service import PlanService
from penstock.bloomcast.controller.remote_topology import RemoteTopology
from penstock.bloomcast.controller.transfer_request import TransferRequest
from penstock.bloomcast.discovery.control import Told
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import ControllerSettings
from penstock.kernel.instant import SECOND
from penstock.kernel.machine import Deliver
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.planning import PlanReply, PlanRequest, VoidBefore
from penstock.wire.frames.cast.topology import CastRole, LinkState
from penstock.wire.frames.cast.transfer import Stop

ITEM = Item(1, 2)
ASKER, MANAGER, PUBLISHER = 1, 2, 3
SETTINGS = ControllerSettings()


def request_of(subscribers: int) -> TransferRequest:
    joined = {node: Origin(node, 1, 7) for node in range(100, 100 + subscribers)}
    return TransferRequest(publisher=PUBLISHER, publisher_boot=1, epoch=5, subscribers=joined)


@dataclass
class Link:
    """What a node says to another, in place of its control frames."""

    managers: list[int] = field(default_factory=lambda: [MANAGER])
    said: list[tuple[int, CastBody]] = field(default_factory=list)

    def send_up(self, body: CastBody, *, item: Item, to: int, now: int) -> None:
        assert (item, now) == (ITEM, now)
        self.said.append((to, body))

    def send_down(self, to: int, body: CastBody, *, item: Item, now: int) -> None:
        self.send_up(body, item=item, to=to, now=now)

    def withdraw(self, kind: type[CastBody], **_others: Any) -> None:
        self.said = [each for each in self.said if not isinstance(each[1], kind)]

    def topology_managers(self) -> list[int]:
        return self.managers


class Plans:
    """What is to be planned."""

    def __init__(self) -> None:
        self.requests: dict[Item, TransferRequest] = {}

    def request(self, item: Item, request: TransferRequest, _now: int) -> None:
        self.requests[item] = request

    def request_of(self, item: Item) -> TransferRequest | None:
        return self.requests.get(item)

    def finish(self, item: Item, _stop: Stop | None, _now: int) -> None:
        self.requests.pop(item, None)


def rendezvous_point() -> tuple[RemoteTopology, Link, Outbox]:
    link, out = Link(), Outbox(ASKER, 1)
    return RemoteTopology(out, cast(Any, link), cast(Any, link), settings=SETTINGS), link, out


class Manager:
    """A topology manager."""

    def __init__(self) -> None:
        self.link, self.plans, self.map = Link(), Plans(), NetworkMap(MANAGER)
        self.service = PlanService(
            Outbox(MANAGER, 1), cast(Any, self.link), self.map, cast(Any, self.plans),
            settings=SETTINGS,
        )  # fmt: skip

    def hear(self, body: PlanRequest, now: int = 0, *, boot: int = 1) -> None:
        self.service.on_request(body, Told(body, ITEM, Origin(ASKER, boot, 1), 1), now)

    def start(self, node: int, boot: int) -> VoidBefore | None:
        state = LinkState(
            node=node, name="n", roles=CastRole(0), number=1, page=0, pages=1, ports=()
        )
        return self.map.on_link_state(state, boot, 0)


def pages_of(request: TransferRequest) -> list[PlanRequest]:
    remote, link, _ = rendezvous_point()
    remote.request(ITEM, request, 0)
    return [body for _, body in link.said if isinstance(body, PlanRequest)]


def test_a_request_comes_in_pages_and_counts_when_all_are_there() -> None:
    request = request_of(250)
    pages = pages_of(request)
    assert [len(page.subscribers) for page in pages] == [100, 100, 50]
    manager = Manager()
    for page in reversed(pages):
        assert not manager.plans.requests
        manager.hear(page)
    # Nobody is reached yet: others may say what their links are.
    manager.service.wake(4 * SECOND)
    assert not manager.plans.requests
    manager.service.wake(5 * SECOND)
    assert manager.plans.requests[ITEM] == request


def test_a_request_is_repeated_until_the_transfer_is_over() -> None:
    remote, link, _ = rendezvous_point()
    remote.request(ITEM, request_of(1), 0)
    [(to, first)] = link.said
    assert to == MANAGER
    remote.wake(10 * SECOND)
    # It has not changed: there is nothing to plan.
    assert [body for _, body in link.said] == [first]
    remote.finish(ITEM, Stop(done=1), 11 * SECOND)
    assert link.said == [(MANAGER, Stop(done=1))]
    assert remote.next_wakeup() is None


def test_another_topology_manager_is_told_everything() -> None:
    remote, link, _ = rendezvous_point()
    link.managers = []
    remote.request(ITEM, request_of(1), 0)
    assert not link.said
    link.managers = [4, 9]
    remote.on_controller(SECOND)
    assert [to for to, _ in link.said] == [4]


def test_more_subscribers_than_pages_hold_are_told() -> None:
    remote, link, out = rendezvous_point()
    remote.request(ITEM, request_of(25_501), 0)
    assert len(link.said) == 255
    assert out.poll() == Deliver(Overflow("subscribers of a request"))


def test_an_older_request_changes_nothing_and_a_restart_begins_anew() -> None:
    manager = Manager()
    remote, link, _ = rendezvous_point()
    for subscribers in (1, 2):
        remote.request(ITEM, request_of(subscribers), 0)
    [(_, newer)] = link.said
    assert isinstance(newer, PlanRequest)
    [older] = pages_of(request_of(1))
    assert older.version < newer.version
    manager.hear(newer)
    manager.hear(older)
    manager.service.wake(5 * SECOND)
    assert manager.plans.requests[ITEM] == request_of(2)
    manager.hear(older, boot=2)
    assert manager.plans.requests[ITEM] == request_of(1)


def test_who_does_not_ask_any_more_is_forgotten() -> None:
    manager = Manager()
    [page] = pages_of(request_of(1))
    manager.hear(page)
    manager.hear(page, 20 * SECOND)
    manager.service.wake(49 * SECOND)
    assert ITEM in manager.service
    manager.service.wake(50 * SECOND)
    assert ITEM not in manager.service
    assert not manager.plans.requests


def test_what_was_said_before_a_restart_is_void() -> None:
    manager = Manager()
    manager.start(101, 2)
    [page] = pages_of(request_of(3))
    manager.hear(page)
    assert manager.link.said == [
        (ASKER, PlanReply(version=page.version, void=(VoidBefore(101, 2),)))
    ]
    manager.link.said.clear()
    manager.start(102, 1)
    restarted = manager.start(102, 3)
    assert restarted == VoidBefore(102, 3)
    manager.service.on_void(restarted, 0)
    # Nobody of this transfer.
    manager.service.on_void(VoidBefore(400, 9), 0)
    manager.service.on_cut_off(ITEM, 0)
    assert manager.link.said == [
        (ASKER, PlanReply(version=page.version, void=(restarted,))),
        (ASKER, PlanReply(version=page.version, is_publisher_cut_off=True)),
    ]


def test_only_replies_to_the_latest_request_count() -> None:
    remote, _, _ = rendezvous_point()
    for subscribers in (1, 2):
        remote.request(ITEM, request_of(subscribers), 0)
    of_latest, of_first = (
        Told(PlanReply(version=version), ITEM, Origin(MANAGER, 1, 1)) for version in (2, 1)
    )
    assert remote.is_current(of_latest)
    assert not remote.is_current(of_first)
    assert not remote.is_current(of_latest._replace(origin=Origin(7, 1, 1)))
