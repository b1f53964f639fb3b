"""Groups the destinations of a packet by next hop, and splits lists that do not fit one packet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.kernel.machine import Port
from penstock.wire.codec.carried_frame import size_carried_frame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.limits import DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX

# Bytes of a PACKET besides the destinations and the carried frame; see codec/packet.
_HEAD_BYTES: Final = 15
_BASE_BYTES: Final = 4
_BROKER_BYTES: Final = 4
_LIST_MAX: Final = 127
_BITMAP_BYTES_MAX: Final = 127
# This number of destinations, whatever their ids, fits beside the largest possible frame.
DESTINATIONS_ALWAYS_FIT: Final = (
    DATAGRAM_BYTES_MAX - FRAME_BYTES_MAX - _HEAD_BYTES
) // _BROKER_BYTES


def common_port(destinations: Sequence[int], ports: Mapping[int, Port]) -> Port | None:
    """The port that leads to all destinations, or None; most relays need only one port."""
    port = ports.get(destinations[0])
    for broker in destinations:
        if ports.get(broker) != port:
            return None
    return port


def group_by_port(
    destinations: Iterable[int], ports: Mapping[int, Port]
) -> tuple[dict[Port, list[int]], int]:
    """The destinations behind each port, in order, and the number of unreachable ones."""
    groups: dict[Port, list[int]] = {}
    unreachable = 0
    for broker in destinations:
        port = ports.get(broker)
        if port is None:
            unreachable += 1
        elif port in groups:
            groups[port].append(broker)
        else:
            groups[port] = [broker]
    return groups, unreachable


def split_to_fit(destinations: Sequence[int], carried: CarriedFrame) -> Iterator[tuple[int, ...]]:
    """Splits the sorted destinations into as few lists as fit packets that carry `carried`.

    Relays only remove destinations, so a list never has to be split again.
    """
    if len(destinations) <= DESTINATIONS_ALWAYS_FIT:
        yield tuple(destinations)
        return
    room_bytes = DATAGRAM_BYTES_MAX - _HEAD_BYTES - size_carried_frame(carried)
    start = 0
    for end in range(1, len(destinations) + 1):
        if end == len(destinations) or not _fits(destinations, start, end + 1, room_bytes):
            yield tuple(destinations[start:end])
            start = end


def _fits(destinations: Sequence[int], start: int, end: int, room_bytes: int) -> bool:
    count = end - start
    bitmap_bytes = (destinations[end - 1] >> 3) - (destinations[start] >> 3) + 1
    return (count <= _LIST_MAX and _BROKER_BYTES * count <= room_bytes) or (
        bitmap_bytes <= _BITMAP_BYTES_MAX and _BASE_BYTES + bitmap_bytes <= room_bytes
    )
