"""Parked messages are bounded in number and bytes, and outlive a restart."""

from __future__ import annotations

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.parking import ParkedMessage, Parking
from penstock.guaranteed.settings import HostSettings
from penstock.kernel.machine import Save


def parked(tick: int, *, pubend: int = 1, size_bytes: int = 10) -> ParkedMessage:
    return ParkedMessage(pubend, tick, 0, 5, "no", bytes(size_bytes))


def stored(disk: Disk) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    for output in disk.outputs:
        assert isinstance(output, Save)
        if output.value is None:
            del values[output.key]
        else:
            values[output.key] = output.value
    return values


def test_parked_messages_are_found_again_whatever_the_name() -> None:
    disk = Disk()
    parking = Parking(disk, HostSettings())
    assert parking.park("a/b", parked(7))
    # The same tick of another pubend is another message.
    assert parking.park("a/b", parked(7, pubend=2))
    assert parking.park("a", parked(8))
    assert parking.discard("a", parked(8).position)
    again = Parking(Disk(), HostSettings())
    again.restore(stored(disk))
    assert again.of("a/b") == [parked(7), parked(7, pubend=2)]
    assert again.of("a") == []


def test_there_is_no_room_beyond_the_bounds() -> None:
    parking = Parking(Disk(), HostSettings(parked_max=2, parked_bytes_max=100))
    assert parking.park("a", parked(1))
    assert not parking.park("a", parked(2, size_bytes=91))
    assert parking.park("a", parked(2, size_bytes=90))
    assert not parking.park("a", parked(3, size_bytes=0))
    assert parking.park("b", parked(3))
    parking.forget("a")
    assert parking.park("a", parked(3, size_bytes=100))
