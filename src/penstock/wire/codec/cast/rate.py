"""RATE on the wire, up and down."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce

_UP: Final = Struct(">IIHHII")
_DOWN: Final = Struct(">IIII")


class AllowedRateCodec:
    """RATE on its way up.

    +-------+------+------+-------------+----------+---------+
    | child | echo | hold | loss events | received | allowed |
    +-------+------+------+-------------+----------+---------+
      4       4      2      2             4          4
    """

    BYTES_MAX: Final = packet_bytes_max(_UP.size)

    @staticmethod
    def size(_body: AllowedRate) -> int:
        """The size of the body in bytes."""
        return _UP.size

    @staticmethod
    def write(body: AllowedRate) -> bytes:
        """Encodes the body."""
        return _UP.pack(
            body.child,
            body.echo_us,
            body.hold_100us,
            body.loss_events,
            body.received_bps,
            body.allowed_bps,
        )

    @staticmethod
    def read(cursor: Reader) -> AllowedRate:
        """Decodes the body."""
        child, echo_us, hold_100us, loss_events, received_bps, allowed_bps = cursor.unpack(_UP)
        return AllowedRate(
            child=child,
            echo_us=echo_us,
            hold_100us=hold_100us,
            loss_events=loss_events,
            received_bps=received_bps,
            allowed_bps=allowed_bps,
        )


class RateInForceCodec:
    """RATE on its way down.

    +-------+------------+------+---------+
    | child | round trip | rate | slowest |
    +-------+------------+------+---------+
      4       4            4      4
    """

    BYTES_MAX: Final = packet_bytes_max(_DOWN.size)

    @staticmethod
    def size(_body: RateInForce) -> int:
        """The size of the body in bytes."""
        return _DOWN.size

    @staticmethod
    def write(body: RateInForce) -> bytes:
        """Encodes the body."""
        return _DOWN.pack(body.child, body.round_trip_us, body.rate_bps, body.slowest)

    @staticmethod
    def read(cursor: Reader) -> RateInForce:
        """Decodes the body."""
        child, round_trip_us, rate_bps, slowest = cursor.unpack(_DOWN)
        return RateInForce(
            child=child, round_trip_us=round_trip_us, rate_bps=rate_bps, slowest=slowest
        )
