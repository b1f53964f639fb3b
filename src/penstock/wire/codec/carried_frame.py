"""A carried frame stands at the end of the frame that carries it, with its own version and type.

Only transport frames can be carried, so nesting is one deep.
"""

from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.carried_frame import Parcel


def size_parcel(parcel: Parcel) -> int:
    """Bytes of the carried frame; counted once, whoever asks."""
    if parcel.size_bytes is None:
        parcel.size_bytes = TRANSPORT.size_of(parcel.frame)
    return parcel.size_bytes


def write_parcel(parcel: Parcel) -> bytes:
    """The carried frame; written once, whoever asks."""
    if parcel.written is None:
        parcel.written = TRANSPORT.encode(parcel.frame)
    return parcel.written


def read_parcel(data: bytes, position: int) -> Parcel:
    """Everything from `position` on, as a carried frame that need not be written again."""
    written = data[position:]
    return Parcel(TRANSPORT.decode(written), written)
