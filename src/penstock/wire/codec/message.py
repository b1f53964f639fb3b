"""A message at the end of a frame, as in DATA and REPAIR.

+-------+------------+---------------------------+
| bytes | attributes | payload, up to the end ...|
+-------+------------+---------------------------+
  2       bytes
"""

from typing import Final

from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.attributes import read_attributes, write_attributes
from penstock.wire.codec.reader import U16
from penstock.wire.limits import FRAME_BYTES_MAX

LENGTH_BYTES: Final = U16.size


def size_message(message: Message) -> int:
    """The size of the message in bytes."""
    return LENGTH_BYTES + len(write_attributes(message.attributes)) + len(message.payload)


def write_message(message: Message) -> bytes:
    """Encodes the message."""
    attributes = write_attributes(message.attributes)
    if len(attributes) > FRAME_BYTES_MAX:
        raise UsageError(f"{len(attributes)} bytes of attributes do not fit a frame: send fewer")
    return b"".join((U16.pack(len(attributes)), attributes, message.payload))


def read_message(data: bytes, position: int) -> Message:
    """Decodes everything from `position` on."""
    (attribute_bytes,) = U16.unpack_from(data, position)
    position += LENGTH_BYTES
    end = position + attribute_bytes
    if end > len(data):
        raise PeerError("the frame ends in its attributes")
    return Message.trusted(read_attributes(data[position:end]), data[end:])
