"""RATE: the rate a receiver allows, and what the publisher makes of it."""

from __future__ import annotations

from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import CastBody


class AllowedRate(CastBody, frozen=True, kw_only=True, gc=False):
    """RATE on its way up; rates are in bytes a second."""

    child: int
    # The stamp of the last symbol, and how long it was held, in 100 µs.
    echo_us: int
    hold_100us: int
    # The logarithm of the loss event rate; 0: no loss event limits the receiver.
    loss_events: int
    received_bps: int
    allowed_bps: int

    def __post_init__(self) -> None:
        check_unsigned(
            32,
            child=self.child,
            echo_us=self.echo_us,
            received_bps=self.received_bps,
            allowed_bps=self.allowed_bps,
        )
        check_unsigned(16, hold_100us=self.hold_100us, loss_events=self.loss_events)


class RateInForce(CastBody, frozen=True, kw_only=True, gc=False):
    """RATE on its way down: what one receiver's round trip is, and who is slowest."""

    child: int
    round_trip_us: int
    # In force; where a minimum is, what the slowest allows, if that is less.
    rate_bps: int
    slowest: int

    def __post_init__(self) -> None:
        check_unsigned(
            32,
            child=self.child,
            round_trip_us=self.round_trip_us,
            rate_bps=self.rate_bps,
            slowest=self.slowest,
        )
