"""What is kept of each publisher's messages, so that others can be given what they lost.

The last K messages are kept, by order of arrival. Once a second K adapts:

1. Needed is K = rate·t + 1, where all but 1 − H of the requests come within t of the
   message [R4]: the time it was held when it was asked for, or would have been held.
2. K falls by a tenth, not below what is needed; but if we are the closest provider
   (who sent half of the last repairs) and fewer than H of the requests found what they
   wanted, K grows by a tenth.
3. [R2] K is rounded up, and then kept within its bounds.

`literal` is algorithm 4.2 as printed. Knows nothing of who asks, or when to answer.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Final, NamedTuple
from typing import Literal as OneOf

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId

_RECENT_REPAIRS: Final = 20
_RECENT_REQUESTS: Final = 100
# A rate over less time says little.
_RATE_PERIOD_MIN_NS: Final = SECOND // 2
# C1 and C2 of all who ask, as SRM begins with them: a request tells (C1 + C2/2)·d_ZB only.
_C1: Final = 2.0
_C2: Final = 2.0
_ROUNDING_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """K lies within `k_min` and `k_max`; `hit_ratio` is H; bytes are of all publishers together."""

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


# [R3] After one miss the hit ratio is below 1 for ever, so this one nearly always grows.
LITERAL: Final = CacheSettings(law="literal", hit_ratio=1.0)


class CacheStatus(NamedTuple):
    """One publisher's cache; hits and misses since the sample before."""

    publisher: int
    messages: int
    limit_messages: int
    size_bytes: int
    hits: int
    misses: int


def bound_messages(rate_mps: float, c1: float, c2: float, d_zb_s: float, d_ba_s: float) -> float:
    """The paper's least K: so that a message is still held when A hears of B's loss."""
    return ((c1 + c2 / 2 + 1) * d_zb_s + d_ba_s) * rate_mps + 1


class CacheDemand:
    """What is heard of others' losses of one publisher's messages, and how much to keep for it."""

    __slots__ = ("_hits", "_needed_ns", "_own_repairs", "_reported_ns", "_requests")

    def __init__(self) -> None:
        self._hits = self._requests = 0
        # Of the last requests: how long the message was to be held, and what the paper averages.
        self._needed_ns: Final[deque[Duration]] = deque(maxlen=_RECENT_REQUESTS)
        self._reported_ns: Final[deque[tuple[Duration, Duration]]] = deque(maxlen=_RECENT_REQUESTS)
        # Of the last repairs: whether they were ours.
        self._own_repairs: Final[deque[bool]] = deque(maxlen=_RECENT_REPAIRS)

    def on_request(
        self, needed_ns: Duration, delay_ns: Duration, distance_ns: Duration, *, is_hit: bool
    ) -> None:
        """Somebody asked for a message that came here."""
        self._requests += 1
        self._hits += is_hit
        self._needed_ns.append(needed_ns)
        self._reported_ns.append((delay_ns, distance_ns))

    def on_repair(self, is_own: bool) -> None:
        """Somebody, we perhaps, gave a message to those who lost it."""
        self._own_repairs.append(is_own)

    def next_limit(self, k: int, rate_mps: float, settings: CacheSettings) -> int:
        """K from now on, if it was `k` and so many messages came a second."""
        # Also when there was none: if all caches are too small, nobody can send any.
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
        # Rounded down where it falls: rounded up, it would never fall below 9.
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


class _PublisherCache:
    """Of one publisher."""

    __slots__ = (
        "_arrivals",
        "_period_start",
        "demand",
        "entries",
        "hits",
        "limit",
        "misses",
        "size_bytes",
    )

    def __init__(self, limit: int, now: Instant) -> None:
        # By epoch and number, oldest first: the frame, its size, and when it came.
        self.entries: Final[OrderedDict[tuple[int, int], tuple[Data, int, Instant]]] = OrderedDict()
        self.limit = limit
        self.size_bytes = self.hits = self.misses = 0
        # None until anyone asks, as for most.
        self.demand: CacheDemand | None = None
        self._arrivals = 0
        self._period_start = now

    def put(self, frame: Data, size_bytes: int, now: Instant) -> None:
        if (frame.epoch, frame.seq) not in self.entries:
            self.entries[frame.epoch, frame.seq] = frame, size_bytes, now
            self.size_bytes += size_bytes
            self._arrivals += 1
            self.shrink()

    def shrink(self) -> None:
        while len(self.entries) > self.limit:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        _, (_, size_bytes, _) = self.entries.popitem(last=False)
        self.size_bytes -= size_bytes

    def adapt(self, settings: CacheSettings, now: Instant) -> None:
        period_ns = now - self._period_start
        if period_ns >= _RATE_PERIOD_MIN_NS:
            if self.demand is not None:
                rate_mps = self._arrivals * SECOND / period_ns
                self.limit = self.demand.next_limit(self.limit, rate_mps, settings)
                self.shrink()
            self._arrivals, self._period_start = 0, now


class RepairCache:
    """Of one node: all publishers' messages that it has, and may be asked for."""

    __slots__ = (
        "_by_publisher",
        "_by_size",
        "_settings",
        "evicted",
        "size_bytes",
        "too_large",
    )

    def __init__(self, settings: CacheSettings | None = None) -> None:
        self._settings: Final = settings or CacheSettings()
        # Those of which a message came longest ago first.
        self._by_publisher: Final[BoundedDict[int, _PublisherCache]] = BoundedDict(
            self._settings.publishers_max
        )
        # A heap, while memory is short: of each cache its bytes, negated; and what they once were.
        self._by_size: Final[list[tuple[int, int]]] = []
        self.size_bytes = 0
        # Messages too large, and messages that went for others of other publishers.
        self.too_large = self.evicted = 0

    @property
    def publishers(self) -> int:
        """Of how many something came."""
        return len(self._by_publisher)

    @property
    def publishers_evicted(self) -> int:
        """How many had to go for others."""
        return self._by_publisher.evicted

    @property
    def messages(self) -> int:
        """How many are held."""
        return sum(len(cache.entries) for cache in self._by_publisher.values())

    def put(self, frame: Data, *, now: Instant) -> None:
        """A message that came, or that we published; it is the newest, unless it is held yet."""
        size_bytes = size_of(frame)
        if size_bytes > self._settings.bytes_max:
            self.too_large += 1
            return
        cache = self._by_publisher.get(frame.pub)
        if cache is None:
            evicted = self._by_publisher.make_room(frame.pub)
            if evicted is not None:
                self.size_bytes -= evicted[1].size_bytes
            cache = self._by_publisher[frame.pub] = _PublisherCache(self._settings.k_min, now)
        else:
            self._by_publisher.move_to_end(frame.pub)
        before_bytes = cache.size_bytes
        cache.put(frame, size_bytes, now)
        self._on_size_changed(frame.pub, cache, before_bytes)
        self._evict_to_fit()

    def get(
        self,
        id_: MessageId,
        *,
        age_ns: Duration,
        delay_ns: Duration,
        distance_ns: Duration,
        now: Instant,
    ) -> Data | None:
        """Answers a request for a message that came here once; others are no misses of ours.

        It left `age_ns` ago, as who asks sees it, who waited for `delay_ns` on
        average, and is so far away.
        """
        cache = self._by_publisher.get(id_.pub)
        if cache is None:
            return None
        found = cache.entries.get((id_.epoch, id_.seq))
        cache.demand = cache.demand or CacheDemand()
        needed_ns = max(0, age_ns) + distance_ns if found is None else now - found[2]
        cache.demand.on_request(needed_ns, delay_ns, distance_ns, is_hit=found is not None)
        if found is None:
            cache.misses += 1
            return None
        cache.hits += 1
        return found[0]

    def find(self, id_: MessageId) -> Data | None:
        """The same, but nobody asked."""
        cache = self._by_publisher.get(id_.pub)
        found = cache and cache.entries.get((id_.epoch, id_.seq))
        return found[0] if found else None

    def on_repair(self, publisher: int, *, is_own: bool) -> None:
        """A message of this publisher was given to who lost it, by us or another."""
        cache = self._by_publisher.get(publisher)
        if cache is not None:
            cache.demand = cache.demand or CacheDemand()
            cache.demand.on_repair(is_own)

    def adapt(self, *, now: Instant) -> None:
        """Once a second: how much to keep of each."""
        for publisher, cache in self._by_publisher.items():
            before_bytes = cache.size_bytes
            cache.adapt(self._settings, now)
            self._on_size_changed(publisher, cache, before_bytes)

    def sample(self) -> list[CacheStatus]:
        """For the trace."""
        statuses = []
        for publisher, cache in self._by_publisher.items():
            statuses.append(
                CacheStatus(
                    publisher,
                    len(cache.entries),
                    cache.limit,
                    cache.size_bytes,
                    cache.hits,
                    cache.misses,
                )
            )
            cache.hits = cache.misses = 0
        return statuses

    def _on_size_changed(self, publisher: int, cache: _PublisherCache, before_bytes: int) -> None:
        self.size_bytes += cache.size_bytes - before_bytes
        if self._by_size and cache.size_bytes != before_bytes:
            heappush(self._by_size, (-cache.size_bytes, publisher))
            if len(self._by_size) > 64 + 4 * len(self._by_publisher):
                # Mostly what once was. If memory is still short it is made anew.
                self._by_size.clear()

    def _evict_to_fit(self) -> None:
        """The oldest of who holds most goes first."""
        while self.size_bytes > self._settings.bytes_max:
            if not self._by_size:
                self._by_size.extend((-c.size_bytes, pub) for pub, c in self._by_publisher.items())
                heapify(self._by_size)
            negated_bytes, pub = heappop(self._by_size)
            cache = self._by_publisher.get(pub)
            if cache is not None and cache.size_bytes == -negated_bytes:
                cache.drop_oldest()
                self.evicted += 1
                self._on_size_changed(pub, cache, -negated_bytes)
