"""Beacons: where controllers are, and how little a false one costs."""

from __future__ import annotations

import pytest

from penstock.bloomcast.discovery.claims import Claim
from penstock.bloomcast.discovery.uplinks import Uplinks, first_number, next_number
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.neighbours import Beacon
from tests.bloomcast.discovery.parts import DOMAIN, ports_of, sent

CONTROLLER = 1
PORTS = ("a", "b", "c", "d")


def number(boot: int, count: int) -> int:
    return first_number(boot) + count


class Router:
    """A router with four ports."""

    def __init__(self, *, lan: str | None = None) -> None:
        self.out = Outbox(50, 1)
        self.claims: list[Claim] = []
        self.uplinks = Uplinks(
            self.out,
            ports_of(*PORTS, lan=lan),
            domain=DOMAIN,
            is_router=True,
            settings=DiscoverySettings(),
            on_controller=lambda claim, _now: self.claims.append(claim),
        )

    def hear(
        self, count: int, now: Instant, *, boot: int = 5, via: str = "a", hops: int = 0
    ) -> int:
        """Takes a beacon; returns how many were passed on."""
        beacon = Beacon(
            origin=Origin(10 + PORTS.index(via), 1, 1),
            controller=CONTROLLER,
            domain=DOMAIN,
            tag_epoch=0,
            number=number(boot, count),
            hops=hops,
        )
        self.uplinks.on_beacon(beacon, via, now)
        return len(sent(self.out))

    def wake(self, now: Instant) -> list[tuple[str, int, int]]:
        """Port, number and hops of what was said of its own accord."""
        self.uplinks.wake(now)
        return [
            (port, frame.number, frame.hops)
            for port, frame in sent(self.out)
            if isinstance(frame, Beacon)
        ]

    def uplink(self) -> str | None:
        return self.uplinks.port_to(CONTROLLER)


def test_a_number_is_passed_on_once() -> None:
    router = Router()
    assert router.hear(1, 0) == 3
    assert [router.hear(1, 0, via=port, hops=1) for port in PORTS] == [0, 0, 0, 0]
    assert router.hear(2, SECOND, via="b") == 3
    assert router.hear(1, SECOND) == 0


def test_a_beacon_of_a_former_start_is_not_passed_on_however_often_both_come() -> None:
    router = Router()
    assert router.hear(9, 0, boot=4) == 3
    assert router.hear(1, SECOND, boot=5) == 3
    copies = [(count, boot) for _ in range(50) for count, boot in ((9, 4), (1, 5), (0xFFFF, 4))]
    assert sum(router.hear(count, SECOND, boot=boot, via="b") for count, boot in copies) == 0
    assert len(router.claims) == 2


def test_neither_is_one_of_a_controller_that_is_gone() -> None:
    router = Router()
    router.hear(7, 0)
    router.wake(3 * SECOND)
    assert router.uplink() is None
    assert router.hear(7, 4 * SECOND) == router.hear(6, 4 * SECOND, boot=4) == 0
    assert router.uplink() is None
    assert router.hear(8, 5 * SECOND) == 3
    assert router.uplink() == "a"


def test_a_number_far_ahead_silences_a_controller_for_half_a_minute_at_most() -> None:
    router = Router()
    router.hear(1, 0)
    router.hear(1, 0, boot=9_999)
    assert router.hear(2, SECOND) == 0
    router.wake(3 * SECOND)
    assert router.hear(29, 29 * SECOND) == 0
    assert router.hear(30, 30 * SECOND) == 3


def test_numbers_of_one_start_begin_again_without_being_another_start() -> None:
    assert next_number(number(5, 0xFFFF)) == number(5, 0)
    router = Router()
    assert router.hear(0xFFFF, 0) == router.hear(0, SECOND) == 3
    assert len(router.claims) == 1


def test_starts_begin_again_too() -> None:
    router = Router()
    assert router.hear(9, 0, boot=0xFFFF) == 3
    assert router.hear(1, SECOND, boot=0x1_0000) == 3
    assert len(router.claims) == 2


def test_what_comes_late_is_said_again_and_then_forgotten() -> None:
    """A neighbour that has lost a beacon hears the next, though this router lost that one."""
    router = Router()
    router.hear(1, 0, hops=2)
    assert router.wake(SECOND) == []
    again = [(port, number(5, 1), 3) for port in ("b", "c", "d")]
    assert router.wake(1_250 * MILLISECOND) == router.wake(2_250 * MILLISECOND) == again
    assert router.wake(3 * SECOND) == []
    assert router.uplink() is None
    assert router.uplinks.next_wakeup() is None


def test_nothing_is_said_twice_while_nothing_is_lost() -> None:
    router = Router()
    for second in range(20):
        assert router.hear(second, second * SECOND) == 3
        assert router.wake(second * SECOND + 999 * MILLISECOND) == []


def test_a_number_that_is_repeated_keeps_a_way_but_not_a_controller() -> None:
    router = Router()
    router.hear(1, 0)
    router.hear(1, SECOND, via="b", hops=1)
    for half in range(5, 7):
        router.hear(1, half * SECOND // 2)
    router.wake(3 * SECOND)
    assert router.uplink() is None


@pytest.mark.parametrize(("lost", "silence_s"), [(0, 3), (1, 5), (2, 7)])
def test_where_beacons_are_lost_a_controller_is_waited_for(lost: int, silence_s: int) -> None:
    router = Router()
    router.hear(1, 0)
    last = (2 + lost) * SECOND
    router.hear(3 + lost, last)
    # The second one was lost as well, unless none was.
    silence_s += 2
    router.wake(last + silence_s * SECOND - 1)
    assert router.uplink() == "a"
    router.wake(last + silence_s * SECOND)
    assert router.uplink() is None


def test_a_way_ends_with_its_neighbour() -> None:
    router = Router()
    router.hear(1, 0)
    router.hear(1, 0, via="b", hops=4)
    router.uplinks.neighbour_lost("a", 11)
    assert router.uplink() == "a"
    router.uplinks.neighbour_lost("a", 10)
    assert router.uplink() == "b"
    router.uplinks.neighbour_lost("b", 11)
    assert router.uplink() is None


def test_no_uplink_leads_to_all_hosts_of_a_lan_or_back() -> None:
    router = Router(lan="b")
    router.hear(1, 0, via="b")
    assert router.uplink() is None
    assert router.uplinks.responsible_for(3) == CONTROLLER
    router.hear(1, 0, via="c", hops=5)
    assert router.uplink() == "c"
    assert router.uplinks.port_to(CONTROLLER, but="c") is None
