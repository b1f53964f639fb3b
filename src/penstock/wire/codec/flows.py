"""The flows of a message, as in DATA and REPAIR.

    +---+---------+-------+----------+      +-----+-------+-------+
    | D | flow_id | quota | flow_seq | if D | CLR | bytes | bloom |
    +---+---------+-------+----------+      +-----+-------+-------+
      1b  15b       2       4                 4     1       bytes

An optional flow, as in TRACKED and RECALL:

    +---+---------+
    | F | flow_id |    both zero for none
    +---+---------+
      1b  15b
"""

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.frames.data import FlowAnnouncement, FlowTag
from penstock.wire.limits import FLOW_ID_BITS

# D or F in the pictures above.
_FLAG: Final = 1 << FLOW_ID_BITS
_FLOW: Final = Struct(">HeI")
_ANNOUNCEMENT_HEAD: Final = Struct(">IB")


def size_flows(flows: tuple[FlowTag, ...]) -> int:
    """The size of all flows in bytes."""
    size_bytes = _FLOW.size * len(flows)
    for flow in flows:
        if flow.announcement is not None:
            size_bytes += _ANNOUNCEMENT_HEAD.size + flow.announcement.bloom_bytes
    return size_bytes


def write_flows(flows: tuple[FlowTag, ...]) -> bytes:
    """Encodes all flows."""
    return b"".join(map(_write_flow, flows))


def read_flows(data: bytes, position: int, count: int) -> tuple[tuple[FlowTag, ...], int]:
    """Decodes `count` flows at `position`; returns them and their end."""
    flows = []
    for _ in range(count):
        flow_id, quota_mps, flow_seq = _FLOW.unpack_from(data, position)
        announcement = None
        position += _FLOW.size
        if flow_id & _FLAG:
            clr, bloom_bytes = _ANNOUNCEMENT_HEAD.unpack_from(data, position)
            position += _ANNOUNCEMENT_HEAD.size
            end = position + bloom_bytes
            announcement = FlowAnnouncement(
                clr, int.from_bytes(data[position:end], "big"), bloom_bytes
            )
            position = end
        flows.append(FlowTag(flow_id & ~_FLAG, quota_mps, flow_seq, announcement))
    return tuple(flows), position


def encode_optional_flow(flow_id: int | None) -> int:
    """Encodes a flow or none in two bytes."""
    return 0 if flow_id is None else _FLAG | flow_id


def decode_optional_flow(flow_field: int) -> int | None:
    """Decodes a flow or none from two bytes."""
    if flow_field & _FLAG:
        return flow_field & ~_FLAG
    if flow_field:
        raise PeerError(f"flow {flow_field} is there and is not")
    return None


def _write_flow(flow: FlowTag) -> bytes:
    announcement = flow.announcement
    if announcement is None:
        return _FLOW.pack(flow.flow_id, flow.quota_mps, flow.flow_seq)
    return (
        _FLOW.pack(_FLAG | flow.flow_id, flow.quota_mps, flow.flow_seq)
        + _ANNOUNCEMENT_HEAD.pack(announcement.clr, announcement.bloom_bytes)
        + announcement.bloom.to_bytes(announcement.bloom_bytes, "big")
    )
