"""The overlay's periods and bounds, in one value that every broker of a network shares."""

from dataclasses import dataclass
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.wire.limits import NEIGHBOURS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySettings:
    """Periods from §3.2 unless a line says otherwise; bounds are ours."""

    hello_ns: Duration = SECOND
    dead_ns: Duration = 3 * SECOND
    refresh_ns: Duration = 30 * SECOND
    expire_ns: Duration = 90 * SECOND
    coalesce_ns: Duration = 50 * MILLISECOND
    # Ours: neighbours compare what they know this often, so that a lost LSA or ADV is
    # noticed without waiting for the next one. What has expired goes at the same time.
    compare_ns: Duration = 5 * SECOND
    # Ours: a client that says nothing for so long is gone.
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
