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

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId

_REPAIRS_SEEN: Final = 20
_REQUESTS_SEEN: Final = 100
# A rate over less time says little.
_PERIOD_MIN: Final = SECOND // 2
# C1 and C2 of all who ask, as SRM begins with them: a request tells (C1 + C2/2)·d_ZB only.
_C1: Final = 2.0
_C2: Final = 2.0
_ROUNDING: Final = 1e-9


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


class Held(NamedTuple):
    """One publisher's cache; hits and misses since the sample before."""

    pub: int
    messages: int
    limit_messages: int
    size_bytes: int
    hits: int
    misses: int


def bound_messages(rate_mps: float, c1: float, c2: float, d_zb_s: float, d_ba_s: float) -> float:
    """The paper's least K: so that a message is still held when A hears of B's loss."""
    return ((c1 + c2 / 2 + 1) * d_zb_s + d_ba_s) * rate_mps + 1


class Demand:
    """What is heard of others' losses of one publisher's messages, and how much to keep for it."""

    __slots__ = ("_asked", "_hits", "_needed_ns", "_own", "_told_ns")

    def __init__(self) -> None:
        self._hits = self._asked = 0
        # Of the last requests: how long the message was to be held, and what the paper averages.
        self._needed_ns: Final[deque[Duration]] = deque(maxlen=_REQUESTS_SEEN)
        self._told_ns: Final[deque[tuple[Duration, Duration]]] = deque(maxlen=_REQUESTS_SEEN)
        # Of the last repairs: whether they were ours.
        self._own: Final[deque[bool]] = deque(maxlen=_REPAIRS_SEEN)

    def on_request(
        self, needed_ns: Duration, delay_ns: Duration, distance_ns: Duration, *, is_hit: bool
    ) -> None:
        """Somebody asked for a message that came here."""
        self._asked += 1
        self._hits += is_hit
        self._needed_ns.append(needed_ns)
        self._told_ns.append((delay_ns, distance_ns))

    def on_repair(self, own: bool) -> None:
        """Somebody, we perhaps, gave a message to those who lost it."""
        self._own.append(own)

    def limit(self, k: int, rate_mps: float, settings: CacheSettings) -> int:
        """K from now on, if it was `k` and so many messages came a second."""
        # Also when there was none: if all caches are too small, nobody can send any.
        is_closest = 2 * sum(self._own) >= len(self._own)
        grows = is_closest and self._hits < settings.hit_ratio * self._asked
        if settings.law == "literal":
            c = max(self._bound(rate_mps), 1.1 * k if grows else 0) if is_closest else 0.9 * k
            return int(c) if settings.k_min <= c <= settings.k_max else k
        self._hits = self._asked = 0
        # Rounded down where it falls: rounded up, it would never fall below 9.
        tenth = ceil(1.1 * k - _ROUNDING) if grows else 9 * k // 10
        needed = ceil(self._needed(rate_mps, settings.hit_ratio) - _ROUNDING)
        return min(settings.k_max, max(settings.k_min, needed, tenth))

    def _needed(self, rate_mps: float, share: float) -> float:
        if not self._needed_ns:
            return 0
        rank = max(1, ceil(share * len(self._needed_ns) - _ROUNDING))
        return rate_mps * sorted(self._needed_ns)[rank - 1] / SECOND + 1

    def _bound(self, rate_mps: float) -> float:
        count = len(self._told_ns) * SECOND
        if not count:
            return 0
        delay_s = sum(delay for delay, _ in self._told_ns) / count
        d_ba_s = sum(distance for _, distance in self._told_ns) / count
        return bound_messages(rate_mps, _C1, _C2, delay_s / (_C1 + _C2 / 2), d_ba_s)


class _Cache:
    """Of one publisher."""

    __slots__ = ("_came", "_since", "demand", "held", "hits", "limit", "misses", "size_bytes")

    def __init__(self, limit: int, now: Instant) -> None:
        # By epoch and number, oldest first: the frame, its size, and when it came.
        self.held: Final[OrderedDict[tuple[int, int], tuple[Data, int, Instant]]] = OrderedDict()
        self.limit = limit
        self.size_bytes = self.hits = self.misses = 0
        # None until anyone asks, as for most.
        self.demand: Demand | None = None
        self._came = 0
        self._since = now

    def put(self, frame: Data, size_bytes: int, now: Instant) -> None:
        if (frame.epoch, frame.seq) not in self.held:
            self.held[frame.epoch, frame.seq] = frame, size_bytes, now
            self.size_bytes += size_bytes
            self._came += 1
            self.shrink()

    def shrink(self) -> None:
        while len(self.held) > self.limit:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        _, (_, size_bytes, _) = self.held.popitem(last=False)
        self.size_bytes -= size_bytes

    def adapt(self, settings: CacheSettings, now: Instant) -> None:
        over_ns = now - self._since
        if over_ns >= _PERIOD_MIN:
            if self.demand is not None:
                rate_mps = self._came * SECOND / over_ns
                self.limit = self.demand.limit(self.limit, rate_mps, settings)
                self.shrink()
            self._came, self._since = 0, now


class Caches:
    """Of one node: all publishers' messages that it has, and may be asked for."""

    __slots__ = (
        "_caches",
        "_largest",
        "_settings",
        "evicted",
        "forgotten",
        "refused",
        "size_bytes",
    )

    def __init__(self, settings: CacheSettings | None = None) -> None:
        self._settings: Final = settings or CacheSettings()
        # Those of which a message came longest ago first.
        self._caches: Final[OrderedDict[int, _Cache]] = OrderedDict()
        # A heap, while memory is short: of each cache its bytes, negated; and what they once were.
        self._largest: Final[list[tuple[int, int]]] = []
        self.size_bytes = 0
        # Messages too large, messages that went for others of other publishers, and publishers.
        self.refused = self.evicted = self.forgotten = 0

    @property
    def publishers(self) -> int:
        """Of how many something came."""
        return len(self._caches)

    @property
    def messages(self) -> int:
        """How many are held."""
        return sum(len(cache.held) for cache in self._caches.values())

    def put(self, frame: Data, *, now: Instant) -> None:
        """A message that came, or that we published; it is the newest, unless it is held yet."""
        size_bytes = size_of(frame)
        if size_bytes > self._settings.bytes_max:
            self.refused += 1
            return
        cache = self._caches.get(frame.pub)
        if cache is None:
            if len(self._caches) >= self._settings.publishers_max:
                _, gone = self._caches.popitem(last=False)
                self.size_bytes -= gone.size_bytes
                self.forgotten += 1
            cache = self._caches[frame.pub] = _Cache(self._settings.k_min, now)
        else:
            self._caches.move_to_end(frame.pub)
        before_bytes = cache.size_bytes
        cache.put(frame, size_bytes, now)
        self._changed(frame.pub, cache, before_bytes)
        self._make_room()

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
        cache = self._caches.get(id_.pub)
        if cache is None:
            return None
        found = cache.held.get((id_.epoch, id_.seq))
        cache.demand = cache.demand or Demand()
        needed_ns = max(0, age_ns) + distance_ns if found is None else now - found[2]
        cache.demand.on_request(needed_ns, delay_ns, distance_ns, is_hit=found is not None)
        if found is None:
            cache.misses += 1
            return None
        cache.hits += 1
        return found[0]

    def peek(self, id_: MessageId) -> Data | None:
        """The same, but nobody asked."""
        cache = self._caches.get(id_.pub)
        found = cache and cache.held.get((id_.epoch, id_.seq))
        return found[0] if found else None

    def on_repair(self, pub: int, *, own: bool) -> None:
        """A message of this publisher was given to who lost it, by us or another."""
        cache = self._caches.get(pub)
        if cache is not None:
            cache.demand = cache.demand or Demand()
            cache.demand.on_repair(own)

    def adapt(self, *, now: Instant) -> None:
        """Once a second: how much to keep of each."""
        for pub, cache in self._caches.items():
            before_bytes = cache.size_bytes
            cache.adapt(self._settings, now)
            self._changed(pub, cache, before_bytes)

    def sample(self) -> list[Held]:
        """For the trace."""
        held = []
        for pub, cache in self._caches.items():
            held.append(
                Held(pub, len(cache.held), cache.limit, cache.size_bytes, cache.hits, cache.misses)
            )
            cache.hits = cache.misses = 0
        return held

    def _changed(self, pub: int, cache: _Cache, before_bytes: int) -> None:
        self.size_bytes += cache.size_bytes - before_bytes
        if self._largest and cache.size_bytes != before_bytes:
            heappush(self._largest, (-cache.size_bytes, pub))
            if len(self._largest) > 64 + 4 * len(self._caches):
                # Mostly what once was. If memory is still short it is made anew.
                self._largest.clear()

    def _make_room(self) -> None:
        """The oldest of who holds most goes first."""
        while self.size_bytes > self._settings.bytes_max:
            if not self._largest:
                self._largest.extend((-c.size_bytes, pub) for pub, c in self._caches.items())
                heapify(self._largest)
            negated_bytes, pub = heappop(self._largest)
            cache = self._caches.get(pub)
            if cache is not None and cache.size_bytes == -negated_bytes:
                cache.drop_oldest()
                self.evicted += 1
                self._changed(pub, cache, -negated_bytes)
