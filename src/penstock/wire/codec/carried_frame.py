"""A carried frame is the last field of the frame that carries it, with its own version and type.

Only transport frames can be carried, so nesting is one deep.
"""

from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.carried_frame import CarriedFrame


def size_carried_frame(carried: CarriedFrame) -> int:
    """The size of the carried frame in bytes; computed once."""
    if carried.size_bytes is None:
        carried.size_bytes = TRANSPORT.size_of(carried.frame)
    return carried.size_bytes


def write_carried_frame(carried: CarriedFrame) -> bytes:
    """The bytes of the carried frame; encoded once."""
    if carried.encoded is None:
        carried.encoded = TRANSPORT.encode(carried.frame)
    return carried.encoded


def read_carried_frame(data: bytes, position: int) -> CarriedFrame:
    """Decodes everything from `position` on, and keeps the bytes for resending."""
    encoded = data[position:]
    return CarriedFrame(TRANSPORT.decode(encoded), encoded)
