"""The two frames of TCP: segments in one direction, acknowledgements in the other."""

from typing import Final

from msgspec import Struct

from penstock.kernel.instant import Instant

# An Ethernet payload, including the IPv4 and TCP headers with timestamps.
SEGMENT_BYTES: Final = 1500
ACK_BYTES: Final = 52


class Segment(Struct, frozen=True):
    """One segment; `sent_at` is echoed, so that each round-trip sample is of this very copy."""

    number: int
    sent_at: Instant
    size_bytes: int = SEGMENT_BYTES


class Ack(Struct, frozen=True):
    """All segments below `expected` have arrived; `echo` is of the segment that caused this."""

    expected: int
    echo: Instant
    size_bytes: int = ACK_BYTES


def size_of(frame: Segment | Ack) -> int:
    """Size on a link."""
    return frame.size_bytes
