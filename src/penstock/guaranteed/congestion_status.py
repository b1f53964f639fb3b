"""Who is slowed down, by whom, and who recovers: what `status` tells of congestion.

The broker that stores a stream knows of its publishers, and every broker of its own readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from penstock.kernel.instant import SECOND, Instant

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker


class ThrottleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What publishers of one pubend may do; only the broker that stores it knows."""

    pubend: str
    # For how long they were slowed down, since the broker started.
    throttled_seconds: float
    # The host that they were last slowed down for; None if they never were, or nobody knows.
    limited_by: str | None
    # Messages a second, of all of them together; None while nobody is slowed down.
    rate_limit_per_second: float | None
    demand_per_second: float


class ReadingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the newest messages of one pubend come to the readers here."""

    pubend: str
    # Whether they are so far behind that they cannot keep what is new.
    is_recovering: bool
    # How fast they read, stream time by time: 1 keeps up. None while no parent says anything.
    doubt_horizon_rate: float | None


def throttles(broker: Broker, stream: str, *, now: Instant) -> Iterator[ThrottleStatus]:
    """Of the pubends of a stream that are stored here."""
    for pubend in broker.pubends.values():
        if pubend.stream == stream:
            throttle = pubend.throttle
            yield ThrottleStatus(
                pubend=f"{pubend.id:016x}",
                throttled_seconds=throttle.throttled_ns(now) / SECOND,
                limited_by=throttle.limited_by,
                rate_limit_per_second=throttle.rate,
                demand_per_second=throttle.demand(now),
            )


def readings(broker: Broker, stream: str) -> Iterator[ReadingStatus]:
    """Of the pubends of a stream that somebody has read here."""
    for pubend in broker.streams.everywhere(stream):
        reading = broker.host.readings.get(pubend)
        if reading is not None and reading.live is not None:
            yield ReadingStatus(
                pubend=f"{pubend:016x}",
                is_recovering=reading.is_recovering,
                doubt_horizon_rate=reading.dh_rate if reading.live.is_linked else None,
            )
