"""What TCP endpoints send each other: segments one way, acknowledgements the other."""

from typing import Final

from msgspec import Struct

from penstock.kernel.instant import Instant

# Ethernet's payload, the IPv4 and TCP headers with timestamps within it.
SEGMENT_BYTES: Final = 1500
ACK_BYTES: Final = 52


class Segment(Struct, frozen=True):
    """The segment of this number; `sent_at` is echoed, so that every sample is of this copy."""

    number: int
    sent_at: Instant
    size_bytes: int = SEGMENT_BYTES


class Ack(Struct, frozen=True):
    """All segments below `expected` have arrived; the echo is of the segment that caused this."""

    expected: int
    echo: Instant
    size_bytes: int = ACK_BYTES


def size_of(frame: Segment | Ack) -> int:
    """What the frame takes on a link."""
    return frame.size_bytes
