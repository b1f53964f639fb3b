"""What is kept of each publisher's messages, so that others can be given what they lost.

The last K messages are kept, by order of arrival; once a second K adapts (`cache_size`).
Knows nothing of who asks, or when to answer.
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

# A rate over less time says little.
_RATE_PERIOD_MIN_NS: Final = SECOND // 2


class CacheStatus(NamedTuple):
    """One publisher's cache; hits and misses since the sample before."""

    publisher: int
    messages: int
    limit_messages: int
    size_bytes: int
    hits: int
    misses: int


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
