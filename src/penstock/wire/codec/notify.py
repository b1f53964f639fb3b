"""NOTIFY on the wire.

+---------+------+---------------------+
| version | type | transport frame ... |
+---------+------+---------------------+
  1         1
"""

from penstock.wire.codec.carried_frame import read_parcel, size_parcel, write_parcel
from penstock.wire.codec.codec_table import BODY
from penstock.wire.frames.notify import Notify


def size(frame: Notify) -> int:
    """Bytes of the body."""
    return size_parcel(frame.parcel)


def write(frame: Notify) -> bytes:
    """The body."""
    return write_parcel(frame.parcel)


def read(data: bytes) -> Notify:
    """The frame, from all its bytes."""
    return Notify(parcel=read_parcel(data, BODY))
