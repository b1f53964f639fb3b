"""Children are told what has changed."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.guaranteed.said_hellos import SaidHellos
from penstock.wire.frames.guaranteed.base import TickRange
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Role

ORDERS = Announcement(pubend=1, stream="orders", distance=0, lease=1_000)
HELLO = Hello(broker="b", life=1, roles=Role.RELAY, token=0, pubends=(ORDERS,))


def with_orders(**changes: object) -> Hello:
    return replace(HELLO, pubends=(replace(ORDERS, **changes),))


def test_what_a_child_knows_is_not_said_again() -> None:
    said = SaidHellos()
    assert said.is_new("one", HELLO)
    assert not said.is_new("one", HELLO)
    # Leases rise all the time.
    assert not said.is_new("one", with_orders(lease=2_000))
    assert said.is_new("two", HELLO)


def test_every_other_change_is_said() -> None:
    changes = (
        with_orders(distance=3),
        with_orders(dead_ranges=(TickRange(1, 5),)),
        with_orders(address="10.0.0.7:7451"),
        # Its log was restored.
        with_orders(lease=999),
        replace(HELLO, pubends=()),
        replace(HELLO, pubends=(ORDERS, replace(ORDERS, pubend=2))),
        replace(HELLO, roles=Role.RELAY | Role.PARTIAL),
    )
    for changed in changes:
        said = SaidHellos()
        assert said.is_new("one", HELLO)
        assert said.is_new("one", changed), changed


def test_a_link_that_comes_again_is_told_everything() -> None:
    said = SaidHellos()
    assert said.is_new("one", HELLO)
    said.forget("one")
    assert said.is_new("one", HELLO)
