"""NOTIFY on the wire.

+---------+------+---------------------+
| version | type | transport frame ... |
+---------+------+---------------------+
  1         1
"""

from penstock.wire.codec.carried_frame import (
    read_carried_frame,
    size_carried_frame,
    write_carried_frame,
)
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.frames.notify import Notify


def size(frame: Notify) -> int:
    """The size of the body in bytes."""
    return size_carried_frame(frame.carried)


def write(frame: Notify) -> bytes:
    """Encodes the body."""
    return write_carried_frame(frame.carried)


def read(data: bytes) -> Notify:
    """Decodes a whole frame."""
    return Notify(carried=read_carried_frame(data, BODY_OFFSET))
