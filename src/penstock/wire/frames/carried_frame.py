"""A transport frame while the overlay carries it.

The simulator hands parcels from broker to broker as they are. Once a codec has
written or measured one, the parcel remembers: a broker with twenty matching
clients writes their message once, and a relay writes back the bytes it read.
"""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import TransportFrame


class CarriedFrame:
    """Equal to any parcel of an equal frame; only the codec sets and changes the other two."""

    __slots__ = ("encoded", "frame", "size_bytes")

    frame: TransportFrame
    size_bytes: int | None
    encoded: bytes | None

    def __init__(self, frame: TransportFrame, encoded: bytes | None = None) -> None:
        if not isinstance(frame, TransportFrame):
            raise UsageError(f"only a transport frame is carried, not {type(frame).__name__}")
        self.frame = frame
        self.size_bytes = None if encoded is None else len(encoded)
        self.encoded = encoded

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CarriedFrame) and self.frame == other.frame

    def __hash__(self) -> int:
        return hash(self.frame)

    def __repr__(self) -> str:
        return f"CarriedFrame({self.frame!r})"
