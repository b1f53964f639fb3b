"""TRACKED on the wire.

    +---------+------+----+-----+-------+-------+---------+------+-------+-------+--------+
    | version | type | to | pub | epoch | token | echo_ts | hold | known | group | nflows |
    +---------+------+----+-----+-------+-------+---------+------+-------+-------+--------+
      1         1      8    8     2       2       4         2      1       2       1
    +------------------------------+
    | nflows x:                    |
    | F 1b, flow_id 15b, flow_seq 4|    all zero for one that is refused
    +------------------------------+

The echoed timestamp is in microseconds, the hold in 100 µs; `group` is the group size.
"""

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.flows import decode_optional_flow, encode_optional_flow
from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.track_reply import TrackReply

_HEAD: Final = Struct(">QQHHIHBHB")
_FLOW: Final = Struct(">HI")


def size(frame: TrackReply) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + _FLOW.size * len(frame.flows)


def write(frame: TrackReply) -> bytes:
    """Encodes the body."""
    head = _HEAD.pack(
        frame.to,
        frame.pub,
        frame.epoch,
        frame.token,
        frame.echo_ts_us,
        frame.hold_100us,
        frame.token_is_known,
        frame.group_size,
        len(frame.flows),
    )
    return head + b"".join(map(_write_flow, frame.flows))


def read(data: bytes) -> TrackReply:
    """Decodes a whole frame."""
    reader = Reader(data)
    to, pub, epoch, token, echo_ts_us, hold_100us, token_is_known, group_size, count = (
        reader.unpack(_HEAD)
    )
    flows = tuple([_read_flow(reader) for _ in range(count)])
    reader.expect_end()
    return TrackReply(
        to=to,
        pub=pub,
        epoch=epoch,
        token=token,
        echo_ts_us=echo_ts_us,
        hold_100us=hold_100us,
        token_is_known=decode_flag("known", token_is_known),
        group_size=group_size,
        flows=flows,
    )


def _write_flow(flow: tuple[int, int] | None) -> bytes:
    return _FLOW.pack(0, 0) if flow is None else _FLOW.pack(encode_optional_flow(flow[0]), flow[1])


def _read_flow(reader: Reader) -> tuple[int, int] | None:
    flow_field, flow_seq = reader.unpack(_FLOW)
    flow_id = decode_optional_flow(flow_field)
    if flow_id is not None:
        return flow_id, flow_seq
    if flow_seq:
        raise PeerError("what is refused has no numbers")
    return None
