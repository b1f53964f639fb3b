"""Periods and bounds of the overlay, shared by all brokers of a network."""

from dataclasses import dataclass
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.wire.limits import NEIGHBOURS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySettings:
    """Periods are those of §3.2 unless a comment says otherwise; the bounds are our own."""

    hello_ns: Duration = SECOND
    dead_ns: Duration = 3 * SECOND
    refresh_ns: Duration = 30 * SECOND
    expire_ns: Duration = 90 * SECOND
    coalesce_ns: Duration = 50 * MILLISECOND
    # Not in §3.2: neighbours exchange summaries at this interval, so that a lost LSA or ADV is
    # noticed before the next one. Expired entries are removed at the same time.
    compare_ns: Duration = 5 * SECOND
    # Not in §3.2: a client that is silent for this long is disconnected.
    client_dead_ns: Duration = 30 * SECOND

    links_max: int = NEIGHBOURS_MAX
    origins_max: int = 1_024
    origin_filters_max: int = 4_096
    filters_max: int = 262_144
    clients_max: int = 4_096
    client_subscriptions_max: int = 1_024
    seen_max: int = 4_096

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")
        if self.dead_ns <= self.hello_ns or self.expire_ns <= self.refresh_ns:
            raise UsageError("make dead_ns longer than hello_ns, and expire_ns than refresh_ns")
        if self.links_max > NEIGHBOURS_MAX:
            raise UsageError(f"links_max must be at most {NEIGHBOURS_MAX}: an LSA holds no more")


DEFAULTS: Final = OverlaySettings()
