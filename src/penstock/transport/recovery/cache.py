"""Caches the messages of each publisher, so that they can be sent again as repairs.

The last K messages of a publisher are cached, in order of arrival; K adapts once a second
(`cache_size`). Does not know the requesters, or when to send a repair.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.transport.recovery.cache_size import CacheDemand, CacheSettings
from penstock.transport.statistics import CacheStatistics, PublisherCacheStatistics
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId

# A rate measured over a shorter period is too noisy.
_RATE_PERIOD_MIN_NS: Final = SECOND // 2


class CacheStatus(NamedTuple):
    """Status of one publisher's cache; hits and misses are since the previous sample."""

    publisher: int
    messages: int
    limit_messages: int
    size_bytes: int
    hits: int
    misses: int


class _PublisherCache:
    """The cached messages of one publisher."""

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
        # By epoch and sequence number, oldest first: frame, size in bytes, time of arrival.
        self.entries: Final[OrderedDict[tuple[int, int], tuple[Data, int, Instant]]] = OrderedDict()
        self.limit = limit
        self.size_bytes = self.hits = self.misses = 0
        # None until the first request or repair: most publishers' messages are never requested.
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
    """The cached messages of all publishers at one endpoint, bounded in bytes."""

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
        # In order of the last arrival, oldest first.
        self._by_publisher: Final[BoundedDict[int, _PublisherCache]] = BoundedDict(
            self._settings.publishers_max
        )
        # Heap of negated size and publisher, in use while memory is short; has outdated entries.
        self._by_size: Final[list[tuple[int, int]]] = []
        self.size_bytes = 0
        # Messages too large to cache, and messages evicted to stay within `bytes_max`.
        self.too_large = self.evicted = 0

    @property
    def publishers(self) -> int:
        """Number of publishers with a cache."""
        return len(self._by_publisher)

    @property
    def publishers_evicted(self) -> int:
        """Number of publishers whose cache was evicted for another publisher's."""
        return self._by_publisher.evicted

    @property
    def messages(self) -> int:
        """Number of messages cached."""
        return sum(len(cache.entries) for cache in self._by_publisher.values())

    def put(self, frame: Data, *, now: Instant) -> None:
        """Cache a received or published message as the newest, unless it is cached already."""
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
        """Look up a requested message and count a hit or a miss.

        Only for messages that arrived here once; any other would be no miss of this cache.
        `age_ns` is the age of the message and `delay_ns` the mean wait before a request, both as
        reported by the requester; `distance_ns` is the distance to the requester.
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
        """Look up a message without counting a hit or a miss."""
        cache = self._by_publisher.get(id_.pub)
        found = cache and cache.entries.get((id_.epoch, id_.seq))
        return found[0] if found else None

    def on_repair(self, publisher: int, *, is_own: bool) -> None:
        """Count a repair of this publisher's messages, sent by us or by another endpoint."""
        cache = self._by_publisher.get(publisher)
        if cache is not None:
            cache.demand = cache.demand or CacheDemand()
            cache.demand.on_repair(is_own)

    def adapt(self, *, now: Instant) -> None:
        """Adapt the size of each cache; called once a second."""
        for publisher, cache in self._by_publisher.items():
            before_bytes = cache.size_bytes
            cache.adapt(self._settings, now)
            self._on_size_changed(publisher, cache, before_bytes)

    def sample(self) -> list[CacheStatus]:
        """Return the status of each cache for the trace, and reset hits and misses."""
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

    def statistics(self) -> CacheStatistics:
        """The size of everything bounded here."""
        return CacheStatistics(
            size_bytes=self.size_bytes,
            publishers=tuple(
                [
                    PublisherCacheStatistics(
                        publisher=publisher,
                        messages=len(cache.entries),
                        messages_max=cache.limit,
                        size_bytes=cache.size_bytes,
                    )
                    for publisher, cache in self._by_publisher.items()
                ]
            ),
        )

    def _on_size_changed(self, publisher: int, cache: _PublisherCache, before_bytes: int) -> None:
        self.size_bytes += cache.size_bytes - before_bytes
        if self._by_size and cache.size_bytes != before_bytes:
            heappush(self._by_size, (-cache.size_bytes, publisher))
            if len(self._by_size) > 64 + 4 * len(self._by_publisher):
                # Most entries are outdated; `_evict_to_fit` rebuilds the heap when needed.
                self._by_size.clear()

    def _evict_to_fit(self) -> None:
        """Evict the oldest message of the largest cache until `bytes_max` is met."""
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
