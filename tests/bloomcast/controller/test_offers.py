"""Several publishers of one object: the nearest sends it."""

from __future__ import annotations

from penstock.bloomcast.controller.offers import Offered, Offers
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.membership import Advertise, ObjectKind

OBJECT, OTHER = bytes(16), bytes([1] * 16)


def offered(publisher: int, hops: int, *, object_id: bytes = OBJECT) -> Offered:
    body = Advertise(
        publisher=publisher,
        epoch=1,
        object_id=object_id,
        kind=ObjectKind.FILE,
        length_bytes=1,
    )
    return Offered(body, Origin(publisher, 1, 1), hops)


def offers_of(*each: Offered) -> Offers:
    offers = Offers()
    for one in each:
        offers.put(one)
    offers.choose()
    return offers


def test_the_nearest_publisher_is_chosen_and_of_two_the_lowest_id() -> None:
    far, near, other = offered(1, 3), offered(3, 1), offered(2, 1)
    assert offers_of(far, near).chosen == near
    assert offers_of(far, near, other).chosen == other
    assert offers_of().chosen is None


def test_the_next_takes_the_place_of_one_that_is_gone() -> None:
    offers = offers_of(offered(1, 3), offered(2, 1))
    chosen = []
    for publisher in (9, 2, 1):
        was_chosen = offers.remove(publisher)
        chosen.append((was_chosen, offers.chosen))
    assert chosen == [(False, offered(2, 1)), (True, offered(1, 3)), (True, None)]
    assert not len(offers)


def test_offers_of_another_object_end_with_the_one_that_was() -> None:
    offers = offers_of(offered(1, 1), offered(2, 3))
    offers.put(offered(1, 1, object_id=OTHER))
    assert offers.chosen == offered(1, 1, object_id=OTHER)
    assert offers.of(2) is None
