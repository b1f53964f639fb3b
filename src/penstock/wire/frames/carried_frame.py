"""A transport frame while the overlay carries it.

The simulator passes carried frames from broker to broker as objects. The codec stores size and
bytes here: a broker with twenty matching clients encodes their message once, and a relay resends
the bytes it received.
"""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import TransportFrame


class CarriedFrame:
    """Equal to any carried frame with an equal `frame`; only the codec sets the other fields."""

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
