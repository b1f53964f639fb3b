"""What is told of a broker that listens at every address of its machine."""

from __future__ import annotations

import pytest

from penstock.guaranteed.announcements import Announcements
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.wildcard_addresses import as_seen_here, is_wildcard
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Role

# What a broker has announced, and by which addresses each of those in a row has reached the one
# before: the first one that, and so on.
ROWS = [
    # A child says what it was given itself: the port may be a forwarded one.
    ("0.0.0.0:7701", ["store.example:7701"], "store.example:7701"),
    ("0.0.0.0:7701", ["10.0.0.7:9999"], "10.0.0.7:9999"),
    ("[::]:7701", ["[2001:db8::7]:7701"], "[2001:db8::7]:7701"),
    ("0.0.0.0:7701", ["127.0.0.1:7701"], "127.0.0.1:7701"),
    # Its own children are told the same.
    ("0.0.0.0:7701", ["store.example:7701", "edge.example:7702"], "store.example:7701"),
    # Unless that means another machine there.
    ("0.0.0.0:7701", ["127.0.0.1:7701", "edge.example:7702"], "edge.example:7701"),
    ("0.0.0.0:7701", ["localhost:7701", "[::1]:7702", "10.0.0.7:7703"], "10.0.0.7:7701"),
    ("0.0.0.0:7701", ["localhost:7701", "10.0.0.7:7702", "10.0.0.8:7703"], "10.0.0.7:7701"),
    # Nobody has said where the parent is.
    ("0.0.0.0:7701", [""], ""),
    # What is told by itself stays.
    ("10.0.0.7:7701", ["store.example:7701"], "10.0.0.7:7701"),
    ("127.0.0.1:7701", ["127.0.0.1:7701", "edge.example:7702"], "127.0.0.1:7701"),
    ("", ["store.example:7701"], ""),
]


@pytest.mark.parametrize(("announced", "reached_at", "told"), ROWS)
def test_clients_are_told_an_address_by_which_the_broker_was_reached(
    announced: str, reached_at: list[str], told: str
) -> None:
    passed_on = Announcement(pubend=1, stream="s", distance=0, lease=5, address=announced)
    seen = passed_on
    for parent in reached_at:
        announcements = Announcements(Disk(), {}, parents=1)
        announcements.parent_up("up", parent)
        hello = Hello(broker="b", life=1, roles=Role.RELAY, token=0, pubends=(passed_on,))
        (seen,) = announcements.take("up", hello)
        (passed_on,) = announcements.passed_on()
    assert seen.address == told
    assert not is_wildcard(seen.address)


def test_children_are_told_the_address_of_the_nearest_parent_whoever_knows_more() -> None:
    announcements = Announcements(Disk(), {}, parents=2)
    for port, distance, lease in (("far", 3, 9), ("near", 0, 5)):
        announcements.parent_up(port, f"{port}.example:7451")
        announced = Announcement(
            pubend=1, stream="s", distance=distance, lease=lease, address="0.0.0.0:7451"
        )
        hello = Hello(broker=port, life=1, roles=Role.RELAY, token=0, pubends=(announced,))
        announcements.take(port, hello)
    (told,) = announcements.passed_on()
    assert (told.address, told.lease, told.distance) == ("near.example:7451", 9, 1)


def test_a_port_alone_is_that_of_the_parents_machine() -> None:
    assert as_seen_here("[::]:7701", 2, "10.0.0.7:7702") == "10.0.0.7:7701"
