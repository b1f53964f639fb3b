"""Destination lists and packet ids, where they get long."""

from __future__ import annotations

import random

import pytest

from penstock.kernel.seeds import Seeds
from penstock.overlay.forwarding.destinations import (
    DESTINATIONS_ALWAYS_FIT,
    group_by_port,
    split_to_fit,
)
from penstock.overlay.forwarding.duplicate_filter import DuplicateFilter
from penstock.wire import encode, size_of
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.limits import DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX
from tests.frames import data


def packet(destinations: tuple[int, ...], parcel: CarriedFrame) -> Packet:
    return Packet(
        id=PacketId(1, 1, 1), traffic=TrafficClass.DATA, destinations=destinations, carried=parcel
    )


def parcel_of(size_bytes: int) -> CarriedFrame:
    """A parcel of just so many bytes, or a little less."""
    empty = size_of(data(1, {"s": ""}))
    parcel = CarriedFrame(data(1, {"s": "a" * min(1000, size_bytes - empty - 3), "t": ""}))
    rest = size_bytes - size_of(parcel.frame) - 3
    return CarriedFrame(data(1, {**parcel.frame.message.attributes, "t": "b" * max(0, rest)}))  # type: ignore[attr-defined]


def some(rng: random.Random, count: int) -> list[int]:
    spread = rng.choice([count, 2 * count, 40 * count, 2**32 - 1])
    return sorted(rng.sample(range(1, spread + 1), count))


@pytest.mark.parametrize("seed", range(40))
def test_lists_are_cut_to_what_a_packet_holds_and_never_again(seed: int) -> None:
    rng = Seeds(seed).rng("fitting")
    parcel = parcel_of(rng.choice([100, 1000, 1390, FRAME_BYTES_MAX]))
    destinations = some(
        rng, rng.choice([1, DESTINATIONS_ALWAYS_FIT, DESTINATIONS_ALWAYS_FIT + 1, 100, 300, 1500])
    )
    parts = list(split_to_fit(destinations, parcel))
    assert [broker for part in parts for broker in part] == destinations
    for part in parts:
        assert len(encode(packet(part, parcel))) <= DATAGRAM_BYTES_MAX
        kept = tuple(sorted(rng.sample(part, rng.randint(1, len(part)))))
        assert size_of(packet(kept, parcel)) <= size_of(packet(part, parcel))


def test_brokers_close_together_need_one_packet() -> None:
    assert len(list(split_to_fit(range(1, 201), parcel_of(FRAME_BYTES_MAX)))) == 1


def test_destinations_are_grouped_by_the_port_that_leads_there() -> None:
    groups, lost = group_by_port([1, 2, 3, 4, 9], {1: "a", 2: "b", 3: "a", 4: "b"})
    assert groups == {"a": [1, 3], "b": [2, 4]}
    assert lost == 1


def test_only_what_did_not_come_by_before_is_fresh() -> None:
    seen = DuplicateFilter(2)
    first, second, third = (PacketId(1, 1, i) for i in range(3))
    assert seen.unseen(first, (1, 2)) == (1, 2)
    assert seen.unseen(second, (1,)) == (1,)
    assert seen.unseen(first, (2, 3)) == (3,)
    # The second is now the one not used for longest.
    assert seen.unseen(third, (1,)) == (1,)
    assert seen.unseen(first, (1, 2, 3)) == ()
    assert seen.unseen(second, (1,)) == (1,)
    assert len(seen) == 2
