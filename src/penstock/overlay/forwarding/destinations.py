"""Who gets which copy: destinations grouped by next hop, and lists cut to what a packet holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.kernel.machine import Port
from penstock.wire.codec.carried_frame import size_carried_frame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.limits import DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX

# What a PACKET takes beside its destinations and what it carries; see codec/packet.
_HEAD_BYTES: Final = 15
_BASE_BYTES: Final = 4
_BROKER_BYTES: Final = 4
_LIST_MAX: Final = 127
_BITMAP_BYTES_MAX: Final = 127
# So many destinations, wherever they are, fit beside the largest frame there is.
DESTINATIONS_ALWAYS_FIT: Final = (
    DATAGRAM_BYTES_MAX - FRAME_BYTES_MAX - _HEAD_BYTES
) // _BROKER_BYTES


def common_port(destinations: Sequence[int], ports: Mapping[int, Port]) -> Port | None:
    """The port that all destinations lie behind, as is the rule far from the first broker."""
    port = ports.get(destinations[0])
    for broker in destinations:
        if ports.get(broker) != port:
            return None
    return port


def group_by_port(
    destinations: Iterable[int], ports: Mapping[int, Port]
) -> tuple[dict[Port, list[int]], int]:
    """The destinations behind each port, in their order, and how many cannot be reached."""
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
    """The sorted destinations, in as few lists as will fit a packet that carries `parcel`.

    Whatever relays strike off, a list only gets shorter: it need never be cut again.
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
