"""The flows that a message matches, as DATA and REPAIR have them.

    +---+---------+-------+----------+      +-----+-------+-------+
    | D | flow_id | quota | flow_seq | if D | CLR | bytes | bloom |
    +---+---------+-------+----------+      +-----+-------+-------+
      1b  15b       2       4                 4     1       bytes

Where there may be a flow or none, as in TRACKED and RECALL:

    +---+---------+
    | F | flow_id |    both zero for none
    +---+---------+
      1b  15b
"""

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.frames.data import Flow, FlowDetail
from penstock.wire.limits import FLOW_ID_BITS

# D or F, as the case may be.
_MARK: Final = 1 << FLOW_ID_BITS
_FLOW: Final = Struct(">HeI")
_DETAIL_HEAD: Final = Struct(">IB")


def size_flows(flows: tuple[Flow, ...]) -> int:
    """Bytes of all of them."""
    size_bytes = _FLOW.size * len(flows)
    for flow in flows:
        if flow.detail is not None:
            size_bytes += _DETAIL_HEAD.size + flow.detail.bloom_bytes
    return size_bytes


def write_flows(flows: tuple[Flow, ...]) -> bytes:
    """All of them, one after another."""
    return b"".join(map(_write_flow, flows))


def read_flows(data: bytes, position: int, count: int) -> tuple[tuple[Flow, ...], int]:
    """So many flows from `position` on, and where they end."""
    flows = []
    for _ in range(count):
        flow_id, quota_mps, flow_seq = _FLOW.unpack_from(data, position)
        detail = None
        position += _FLOW.size
        if flow_id & _MARK:
            clr, bloom_bytes = _DETAIL_HEAD.unpack_from(data, position)
            position += _DETAIL_HEAD.size
            end = position + bloom_bytes
            detail = FlowDetail(clr, int.from_bytes(data[position:end], "big"), bloom_bytes)
            position = end
        flows.append(Flow(flow_id & ~_MARK, quota_mps, flow_seq, detail))
    return tuple(flows), position


def mark_flow(flow_id: int | None) -> int:
    """Two bytes for a flow or none."""
    return 0 if flow_id is None else _MARK | flow_id


def marked_flow(number: int) -> int | None:
    """The flow that two bytes speak of, or none."""
    if number & _MARK:
        return number & ~_MARK
    if number:
        raise PeerError(f"flow {number} is there and is not")
    return None


def _write_flow(flow: Flow) -> bytes:
    detail = flow.detail
    if detail is None:
        return _FLOW.pack(flow.flow_id, flow.quota_mps, flow.flow_seq)
    return (
        _FLOW.pack(_MARK | flow.flow_id, flow.quota_mps, flow.flow_seq)
        + _DETAIL_HEAD.pack(detail.clr, detail.bloom_bytes)
        + detail.bloom.to_bytes(detail.bloom_bytes, "big")
    )
