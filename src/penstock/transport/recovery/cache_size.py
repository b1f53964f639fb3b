"""Computes K, the number of a publisher's messages to cache, from the requests received.

1. The needed K is rate·t + 1, where a share H of the requests arrives within t of the message
   [R4]: the time the message was cached when it was requested, or would have been cached.
2. K shrinks by a tenth, but not below the needed K. If this endpoint is the closest repairer (it
   sent at least half of the last repairs) and fewer than H of the requests were hits, K grows by a
   tenth instead.
3. [R2] K is rounded up, and then limited to its bounds.

The law `literal` is algorithm 4.2 as printed. Does not know the cached messages.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil
from typing import Final
from typing import Literal as OneOf

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration

_RECENT_REPAIRS: Final = 20
_RECENT_REQUESTS: Final = 100
# SRM's initial C1 and C2, assumed for all requesters: a request reports only (C1 + C2/2)·d_ZB.
_C1: Final = 2.0
_C2: Final = 2.0
_ROUNDING_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Bounds of K, and the hit ratio H; `bytes_max` is for all publishers together."""

    law: OneOf["adaptive", "literal"] = "adaptive"
    k_min: int = 5
    k_max: int = 300
    hit_ratio: float = 0.95
    bytes_max: int = 64 << 20
    publishers_max: int = 16_384

    def __post_init__(self) -> None:
        check_types(self)
        if self.law not in ("adaptive", "literal"):
            raise UsageError(f"law is 'adaptive' or 'literal', not {self.law!r}")
        if not 1 <= self.k_min <= self.k_max or not 0 < self.hit_ratio <= 1:
            raise UsageError("1 ≤ k_min ≤ k_max, and hit_ratio lies within 0 and 1")
        if min(self.bytes_max, self.publishers_max) < 1:
            raise UsageError("bytes_max and publishers_max are at least 1")


# [R3] After one miss the hit ratio stays below 1 for ever, so K nearly always grows.
LITERAL: Final = CacheSettings(law="literal", hit_ratio=1.0)


def bound_messages(rate_mps: float, c1: float, c2: float, d_zb_s: float, d_ba_s: float) -> float:
    """The paper's least K, with which A still caches a message when B's request for it arrives."""
    return ((c1 + c2 / 2 + 1) * d_zb_s + d_ba_s) * rate_mps + 1


class CacheDemand:
    """Recent requests and repairs of one publisher's messages, and the K they call for."""

    __slots__ = ("_hits", "_needed_ns", "_own_repairs", "_reported_ns", "_requests")

    def __init__(self) -> None:
        self._hits = self._requests = 0
        # Of the last requests: the time the message had to be cached; and the requester's mean
        # wait and distance, which the paper averages.
        self._needed_ns: Final[deque[Duration]] = deque(maxlen=_RECENT_REQUESTS)
        self._reported_ns: Final[deque[tuple[Duration, Duration]]] = deque(maxlen=_RECENT_REQUESTS)
        # Of the last repairs: whether this endpoint sent them.
        self._own_repairs: Final[deque[bool]] = deque(maxlen=_RECENT_REPAIRS)

    def on_request(
        self, needed_ns: Duration, delay_ns: Duration, distance_ns: Duration, *, is_hit: bool
    ) -> None:
        """Count a request for a message that arrived here."""
        self._requests += 1
        self._hits += is_hit
        self._needed_ns.append(needed_ns)
        self._reported_ns.append((delay_ns, distance_ns))

    def on_repair(self, is_own: bool) -> None:
        """Count a repair, sent by this endpoint or by another."""
        self._own_repairs.append(is_own)

    def next_limit(self, k: int, rate_mps: float, settings: CacheSettings) -> int:
        """Return the next K, given the current one and the arrival rate in messages per second."""
        # True without repairs too: if all caches are too small, no endpoint can send any.
        is_closest = 2 * sum(self._own_repairs) >= len(self._own_repairs)
        should_grow = is_closest and self._hits < settings.hit_ratio * self._requests
        if settings.law == "literal":
            literal_limit = (
                max(self._literal_bound(rate_mps), 1.1 * k if should_grow else 0)
                if is_closest
                else 0.9 * k
            )
            return int(literal_limit) if settings.k_min <= literal_limit <= settings.k_max else k
        self._hits = self._requests = 0
        # Rounded down when shrinking: rounded up, K would never fall below 9.
        tenth = ceil(1.1 * k - _ROUNDING_TOLERANCE) if should_grow else 9 * k // 10
        needed = ceil(self._messages_needed(rate_mps, settings.hit_ratio) - _ROUNDING_TOLERANCE)
        return min(settings.k_max, max(settings.k_min, needed, tenth))

    def _messages_needed(self, rate_mps: float, share: float) -> float:
        if not self._needed_ns:
            return 0
        rank = max(1, ceil(share * len(self._needed_ns) - _ROUNDING_TOLERANCE))
        return rate_mps * sorted(self._needed_ns)[rank - 1] / SECOND + 1

    def _literal_bound(self, rate_mps: float) -> float:
        count = len(self._reported_ns) * SECOND
        if not count:
            return 0
        delay_s = sum(delay for delay, _ in self._reported_ns) / count
        d_ba_s = sum(distance for _, distance in self._reported_ns) / count
        return bound_messages(rate_mps, _C1, _C2, delay_s / (_C1 + _C2 / 2), d_ba_s)
