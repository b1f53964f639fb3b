"""Control frames on their way: who passes them on, and how often."""

from __future__ import annotations

from penstock.bloomcast.discovery.control import Control, Route, Told
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.header import TTL_MAX, Header
from penstock.wire.frames.cast.membership import Subscribe
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.packet import Packet
from tests.bloomcast.discovery.parts import DOMAIN, ports_of, sent

ITEM = Item(1, 2)
NODE, CONTROLLER, HOST = 50, 1, 7


class Node:
    """Its uplink is port "a"; it can be a controller as well."""

    def __init__(self, *, is_router: bool = True, lan: str | None = None) -> None:
        self.out = Outbox(NODE, 1)
        self.told: list[Told] = []
        self.routes: dict[int, Route] = {}
        self.forwarded = 0
        ports = ports_of("a", "b", lan=lan)
        self.uplinks = Uplinks(
            self.out,
            ports,
            domain=DOMAIN,
            is_router=is_router,
            settings=DiscoverySettings(),
            on_controller=lambda _claim, _now: None,
        )
        self.control = Control(
            self.out,
            self.uplinks,
            settings=DiscoverySettings(),
            forward=self.forward,
            is_router=is_router,
            user=self,
        )
        beacon = Beacon(
            origin=Origin(CONTROLLER, 1, 1), controller=CONTROLLER, domain=DOMAIN,
            tag_epoch=0, number=1, hops=0,
        )  # fmt: skip
        self.uplinks.on_beacon(beacon, "a", 0)
        sent(self.out)

    def forward(self, _packet: Packet, _via: str | None) -> None:
        self.forwarded += 1

    def up(self, now: Instant, *, via: str = "b", number: int = 1, to: int = CONTROLLER) -> int:
        """Takes a SUBSCRIBE; returns how many frames were passed on."""
        body = Up(to=to, body=Subscribe(subscriber=HOST, name="h"))
        header = Header(ttl=TTL_MAX, choice=0, links=0, item=ITEM)
        packet = Packet(header=header, body=body, origin=Origin(HOST, 1, number))
        self.control.on_up(packet, body, via, now)
        return len(sent(self.out))

    def down(self, now: Instant, *, number: int = 1) -> int:
        """As `up`, to a host."""
        body = Down(to=HOST, body=ControlAck(boot=1, number=1))
        header = Header(ttl=TTL_MAX, choice=0, links=3, item=ITEM)
        packet = Packet(header=header, body=body, origin=Origin(CONTROLLER, 1, number))
        before = self.forwarded
        self.control.on_down(packet, body, "a", now)
        return self.forwarded - before

    # Its user.

    def has_map(self) -> bool:
        return True

    def route_to(self, node: int) -> Route | None:
        return self.routes.get(node)

    def takes(self, body: CastBody, item: Item) -> bool:
        return True

    def on_up(self, told: Told, now: Instant) -> None:
        self.told.append(told)

    def on_down(self, told: Told, now: Instant) -> None:
        self.told.append(told)

    def on_settled(self, now: Instant) -> None:
        pass

    def on_given_up(self, to: int, told: Told, now: Instant) -> None:
        pass


def test_a_router_passes_up_what_it_did_not_get_from_there() -> None:
    assert Node().up(0) == 1
    assert Node().up(0, via="a") == 0


def test_a_host_passes_nothing_on() -> None:
    host = Node(is_router=False)
    assert host.up(0) == host.down(0) == 0


def test_nothing_goes_up_to_all_hosts_of_a_lan() -> None:
    assert Node(lan="a").up(0) == 0


def test_a_frame_that_goes_round_is_passed_on_once() -> None:
    router = Node()
    assert [router.up(at * MILLISECOND) for at in range(0, 1_000, 50)] == [1] + [0] * 19
    router = Node()
    assert [router.down(at * MILLISECOND) for at in range(0, 1_000, 50)] == [1] + [0] * 19


def test_what_is_repeated_goes_on_in_copies() -> None:
    router = Node()
    assert [router.up(at * MILLISECOND) for at in (0, 200, 600, 1_400)] == [1, 2, 3, 3]
    # So does what goes back, and what comes next.
    assert router.down(1_410 * MILLISECOND) == 3
    assert router.up(2 * SECOND, number=2) == 3
    assert router.up(11 * SECOND, number=3) == 1


def test_what_a_node_repeats_itself_goes_out_in_copies() -> None:
    node = Node(is_router=False)
    node.control.send_up(Subscribe(subscriber=NODE, name="n"), item=ITEM, now=0)
    counts = [len(sent(node.out))]
    while node.control.pending:
        at = node.control.next_wakeup()
        assert at is not None
        node.control.wake(at)
        counts.append(len(sent(node.out)))
    assert counts == [1, 2, 3, 3, 3, 3, 0]


def test_a_copy_is_neither_told_nor_answered_again_but_a_repetition_is_answered() -> None:
    controller = Node()
    controller.routes[HOST] = Route(1, 0, 1)
    answers = []
    for at in (0, 1, 2, 200, 201):
        controller.up(at * MILLISECOND, to=NODE)
        answers.append(controller.forwarded)
    assert len(controller.told) == 1
    assert answers == [1, 1, 1, 3, 3]


def test_an_answer_waits_for_the_next_map_and_not_for_longer() -> None:
    controller = Node()
    controller.up(0, to=NODE)
    controller.routes[HOST] = Route(1, 0, 1)
    controller.control.on_new_map(100 * MILLISECOND)
    assert controller.forwarded == 1
    controller.control.on_new_map(100 * MILLISECOND)
    assert controller.forwarded == 1
    del controller.routes[HOST]
    controller.up(SECOND, to=NODE, number=2)
    controller.routes[HOST] = Route(1, 0, 1)
    controller.control.on_new_map(2 * SECOND)
    assert controller.forwarded == 1
