"""A carried frame stands at the end of the frame that carries it, with its own version and type.

Only transport frames can be carried, so nesting is one deep.
"""

from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.carried_frame import CarriedFrame


def size_carried_frame(carried: CarriedFrame) -> int:
    """Bytes of the carried frame; counted once, whoever asks."""
    if carried.size_bytes is None:
        carried.size_bytes = TRANSPORT.size_of(carried.frame)
    return carried.size_bytes


def write_carried_frame(carried: CarriedFrame) -> bytes:
    """The carried frame; written once, whoever asks."""
    if carried.encoded is None:
        carried.encoded = TRANSPORT.encode(carried.frame)
    return carried.encoded


def read_carried_frame(data: bytes, position: int) -> CarriedFrame:
    """Everything from `position` on, as a carried frame that need not be written again."""
    encoded = data[position:]
    return CarriedFrame(TRANSPORT.decode(encoded), encoded)
