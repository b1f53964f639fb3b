"""HELLO: who is there."""

from __future__ import annotations

from penstock.bloomcast.discovery.neighbours import Neighbours
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.neighbours import Hello
from tests.bloomcast.discovery.parts import DOMAIN, ports_of


class Node:
    """A node with one port."""

    def __init__(self) -> None:
        self.lost: list[int] = []
        self.neighbours = Neighbours(
            Outbox(50, 1),
            ports_of("a"),
            domain=DOMAIN,
            is_router=True,
            settings=DiscoverySettings(),
            on_change=lambda _now: None,
            on_lost=lambda _port, node: self.lost.append(node),
        )
        self.neighbours.port_up("a")

    def hear(self, number: int, now: Instant, *, boot: int = 1, node: int = 7) -> None:
        self.neighbours.on_hello(Hello(origin=Origin(node, boot, number), domain=DOMAIN), "a", now)

    def there(self, now: Instant) -> list[int]:
        self.neighbours.wake(now)
        return [*self.neighbours.at("a")]


def test_a_neighbour_on_a_link_that_loses_nothing_is_dead_after_three_seconds() -> None:
    node = Node()
    for second in range(10):
        node.hear(second, second * SECOND)
    assert node.there(12 * SECOND - 1) == [7]
    assert node.there(12 * SECOND) == []
    assert node.lost == [7]


def test_one_on_a_link_that_loses_some_is_waited_for() -> None:
    node = Node()
    for second in (0, 1, 3, 4, 7):
        node.hear(second, second * SECOND)
    # Three were lost.
    assert node.there(16 * SECOND - 1) == [7]
    assert node.there(16 * SECOND) == []


def test_any_frame_tells_that_the_only_neighbour_is_there_but_not_for_ever() -> None:
    node = Node()
    node.hear(1, 0)
    for half in range(1, 40):
        at = half * SECOND // 2
        node.neighbours.on_frame("a", at)
        assert node.there(at) == ([7] if at < 12 * SECOND else [])


def test_of_two_at_one_port_it_tells_nothing() -> None:
    node = Node()
    node.hear(1, 0)
    node.hear(1, 2 * SECOND, node=8)
    node.neighbours.on_frame("a", 2_900 * MILLISECOND)
    assert node.there(3 * SECOND) == [8]


def test_a_hello_that_is_replayed_keeps_nobody() -> None:
    node = Node()
    node.hear(5, 0)
    node.hear(5, 2 * SECOND)
    node.hear(4, 2 * SECOND)
    assert node.there(3 * SECOND) == []
    node.hear(5, 4 * SECOND)
    assert node.there(4 * SECOND) == []
    node.hear(6, 5 * SECOND)
    assert node.there(5 * SECOND) == [7]


def test_whoever_starts_again_is_there_at_once_and_has_lost_nothing() -> None:
    node = Node()
    for second in (0, 3):
        node.hear(second + 100, second * SECOND)
    node.hear(1, 4 * SECOND, boot=2)
    assert node.there(7 * SECOND - 1) == [7]
    assert node.there(7 * SECOND) == []


def test_a_number_far_ahead_keeps_a_neighbour_away_for_half_a_minute_at_most() -> None:
    node = Node()
    node.hear(1 << 30, 0)
    node.hear(2, 29 * SECOND)
    assert node.there(29 * SECOND) == []
    node.hear(3, 30 * SECOND)
    assert node.there(30 * SECOND) == [7]
