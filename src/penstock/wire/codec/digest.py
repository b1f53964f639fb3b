"""DIGEST on the wire.

    +---------+------+-------+-----+-------+------------+-----+--------+-------+------+
    | version | type | flags | pub | epoch | digest_seq | seq | nflows | bytes | nrec |
    +---------+------+-------+-----+-------+------------+-----+--------+-------+------+
      1         1      1       8     2       4            4     1        1       1
    +---------+-------------+     +----+
    | send_ts | sent_before | TO: | to |
    +---------+-------------+     +----+
      6         3                   8
    +-------------------------------+-------+--------------------------------+
    | nflows x (flow_id 2, last 4)  | base  | record of nrec entries, see    |
    |                               |       | data.py                        |
    +-------------------------------+-------+--------------------------------+
                                      bytes

The lowest bit of `flags` is TO, the next COVERS_PREVIOUS, the third REPLY; the others are zero. The
timestamp is in microseconds, sent_before in 100 µs. Base and entries are packed as in record.py,
and not unpacked here.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.data import read_record
from penstock.wire.codec.reader import U64, Reader, check_flags
from penstock.wire.frames.digest import Digest
from penstock.wire.quantise import DELTA_BYTES, STAMP_BYTES

TO: Final = 1
COVERS_PREVIOUS: Final = 2
REPLY: Final = 4
_HEAD: Final = Struct(">BQHIIBBB")
_HEAD_BYTES: Final = _HEAD.size + STAMP_BYTES + DELTA_BYTES
_FLOW: Final = Struct(">HI")


def size(frame: Digest) -> int:
    """The size of the body in bytes."""
    to_bytes = 0 if frame.to is None else U64.size
    flows_bytes = _FLOW.size * len(frame.flows)
    return _HEAD_BYTES + to_bytes + flows_bytes + len(frame.base) + len(frame.record.data)


def write(frame: Digest) -> bytes:
    """Encodes the body."""
    to, flows, base, record = frame.to, frame.flows, frame.base, frame.record
    head = _HEAD.pack(
        (to is not None) * TO | frame.covers_previous * COVERS_PREVIOUS | frame.is_reply * REPLY,
        frame.pub,
        frame.epoch,
        frame.digest_seq,
        frame.seq,
        len(flows),
        len(base),
        record.count,
    )
    return b"".join(
        [
            head,
            frame.send_ts_us.to_bytes(STAMP_BYTES, "big"),
            frame.sent_before_100us.to_bytes(DELTA_BYTES, "big"),
            b"" if to is None else U64.pack(to),
            *[_FLOW.pack(flow_id, flow_seq) for flow_id, flow_seq in flows],
            base,
            record.data,
        ]
    )


def read(data: bytes) -> Digest:
    """Decodes a whole frame."""
    reader = Reader(data)
    flag_bits, pub, epoch, digest_seq, seq, flow_count, base_bytes, count = reader.unpack(_HEAD)
    send_ts_us = reader.read_uint(STAMP_BYTES)
    sent_before_100us = reader.read_uint(DELTA_BYTES)
    to = (
        reader.unpack_one(U64)
        if check_flags(flag_bits, TO | COVERS_PREVIOUS | REPLY) & TO
        else None
    )
    flows = tuple([_read_flow(reader) for _ in range(flow_count)])
    base = reader.read_bytes(base_bytes)
    record, reader.position = read_record(data, reader.position, count)
    reader.expect_end()
    return Digest(
        pub=pub,
        epoch=epoch,
        digest_seq=digest_seq,
        seq=seq,
        send_ts_us=send_ts_us,
        sent_before_100us=sent_before_100us,
        base=base,
        record=record,
        flows=flows,
        to=to,
        covers_previous=flag_bits & COVERS_PREVIOUS != 0,
        is_reply=flag_bits & REPLY != 0,
    )


def _read_flow(reader: Reader) -> tuple[int, int]:
    flow_id, flow_seq = reader.unpack(_FLOW)
    return flow_id, flow_seq
