"""What is kept for others: against lists, and against the specification's numbers."""

from __future__ import annotations

import random
from collections import defaultdict
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.recovery.cache import CacheStatus, RepairCache
from penstock.transport.recovery.cache_size import (
    LITERAL,
    CacheDemand,
    CacheSettings,
    bound_messages,
)
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId
from tests.frames import data

DEFAULT = CacheSettings()


def frame(seq: int, *, pub: int = 1, epoch: int = 1, payload: int = 0) -> Data:
    return data(seq, {}, pub=pub, epoch=epoch, message=Message({}, bytes(payload)))


EMPTY = size_of(frame(0))


def get(caches: RepairCache, id_: MessageId, *, age: int = 0, now: int = 0) -> Data | None:
    return caches.get(
        id_, age_ns=age, delay_ns=300 * MILLISECOND, distance_ns=100 * MILLISECOND, now=now
    )


def asked(
    demand: CacheDemand, needed_ns: int = 0, *, hits: int = 0, misses: int = 0
) -> CacheDemand:
    """By those who waited 300 ms on average, 80 ms away."""
    for i in range(hits + misses):
        demand.on_request(needed_ns, 300 * MILLISECOND, 80 * MILLISECOND, is_hit=i < hits)
    return demand


def trace(demand: CacheDemand, k: int, rate: float, how: CacheSettings, seconds: int) -> list[int]:
    return [k := demand.next_limit(k, rate, how) for _ in range(seconds)]


# How much is kept


@pytest.mark.parametrize(
    ("rate", "c1", "c2", "d_zb", "d_ba", "bound", "k"),
    [
        (10, 2, 2, 0.1, 0.08, 5.8, 6),
        (25, 2, 2, 0.2, 0.1, 23.5, 24),
        (50, 0.5, 1, 0.15, 0.05, 18.5, 19),
        (50, 2, 2, 0.55, 0.5, 136, 136),
        (200, 2, 2, 0.3, 0.2, 281, 281),
        (1000, 2, 2, 0.3, 0.2, 1401, 300),
    ],
)
def test_bounds_are_those_of_the_vectors(
    rate: float, c1: float, c2: float, d_zb: float, d_ba: float, bound: float, k: int
) -> None:
    assert bound_messages(rate, c1, c2, d_zb, d_ba) == pytest.approx(bound)
    # The time that the bound allows, if it were seen in requests.
    demand = asked(CacheDemand(), round((bound - 1) / rate * SECOND), hits=1)
    assert demand.next_limit(5, rate, DEFAULT) == k


@pytest.mark.spec("R2")
def test_the_literal_rule_computes_the_bound_and_cuts_it_off() -> None:
    # Those who wait 300 ms on average are 100 ms away from the publisher: 4·.1 + .08.
    assert asked(CacheDemand(), hits=1).next_limit(20, 10, LITERAL) == 5
    assert asked(CacheDemand(), hits=1).next_limit(5, 100, LITERAL) == 49


@pytest.mark.spec("R2")
def test_the_literal_rule_sticks() -> None:
    # At 42, when the bound is far too high; at 5, as 1.1·5 is cut off; and if nobody asked.
    assert set(trace(asked(CacheDemand(), misses=1), 42, 2_000, LITERAL, 50)) == {42}
    assert set(trace(asked(CacheDemand(), misses=1), 5, 1, LITERAL, 50)) == {5}
    assert set(trace(CacheDemand(), 7, 100, LITERAL, 5)) == {7}


@pytest.mark.spec("R3")
def test_the_literal_rule_grows_for_ever_after_one_miss() -> None:
    demand = asked(CacheDemand(), hits=1_000, misses=1)
    ks = trace(demand, 10, 1, LITERAL, 60)
    assert ks[:3] == [11, 12, 13]
    # Until a tenth more would be too much, and is left alone.
    assert 300 / 1.1 < ks[-1] < 300
    assert asked(CacheDemand(), hits=1_000, misses=1).next_limit(100, 100, DEFAULT) == 90


@pytest.mark.spec("R2")
def test_the_default_is_clamped_and_rounded_up() -> None:
    demand = asked(CacheDemand(), 10 * SECOND, hits=1)
    assert demand.next_limit(42, 1_000, DEFAULT) == 300
    assert asked(CacheDemand(), hits=1).next_limit(5, 10, DEFAULT) == 5
    # The time needed is nothing, so that growth is all there is.
    assert asked(CacheDemand(), misses=1).next_limit(5, 10, DEFAULT) == 6
    assert asked(CacheDemand(), misses=1).next_limit(10, 10, DEFAULT) == 11
    assert asked(CacheDemand(), misses=1).next_limit(299, 10, DEFAULT) == 300


@pytest.mark.spec("R3")
@pytest.mark.parametrize(("misses", "k"), [(5, 90), (6, 110)])
def test_it_grows_when_too_few_of_the_last_requests_hit(misses: int, k: int) -> None:
    demand = asked(CacheDemand(), hits=100 - misses, misses=misses)
    assert demand.next_limit(100, 1, DEFAULT) == k
    # Once, not until anyone asks again.
    assert demand.next_limit(100, 1, DEFAULT) == 90


@pytest.mark.spec("R4")
def test_all_but_the_longest_twentieth_of_the_times_are_covered() -> None:
    demand = CacheDemand()
    for i in range(100):
        asked(demand, (i + 1) * 10 * MILLISECOND, hits=1)
    assert demand.next_limit(5, 100, DEFAULT) == 96
    assert demand.next_limit(5, 100, CacheSettings(hit_ratio=1.0)) == 101
    # Only the last hundred count.
    asked(demand, 10 * MILLISECOND, hits=100)
    assert demand.next_limit(5, 100, DEFAULT) == 5


@pytest.mark.parametrize("how", [DEFAULT, LITERAL])
def test_who_is_not_the_closest_provider_keeps_less_and_less(how: CacheSettings) -> None:
    demand = asked(CacheDemand(), misses=10)
    for i in range(20):
        demand.on_repair(i % 2 == 0)
    assert demand.next_limit(100, 1, how) == 110
    asked(demand, misses=10)
    demand.on_repair(False)
    ks = trace(demand, 100, 1, how, 60)
    assert ks[:3] == [90, 81, 72]
    # Not held up on the way down.
    assert ks[-1] == 5


@pytest.mark.spec("R4")
def test_who_is_not_the_closest_keeps_what_requests_need_all_the_same() -> None:
    # Otherwise nobody would have it when the closest is gone.
    demand = asked(CacheDemand(), SECOND, misses=10)
    for _ in range(20):
        demand.on_repair(False)
    assert trace(demand, 100, 49, DEFAULT, 20)[-1] == 50
    assert demand.next_limit(5, 49, DEFAULT) == 50


DEMANDS = st.lists(
    st.tuples(st.integers(0, 20 * SECOND), st.booleans(), st.booleans(), st.floats(0, 2_000)),
    max_size=50,
)


@given(st.sampled_from([DEFAULT, LITERAL]), DEMANDS)
def test_k_is_always_within_its_bounds_and_enough(
    how: CacheSettings, events: list[tuple[int, bool, bool, float]]
) -> None:
    demand, k, times = CacheDemand(), how.k_min, []
    for needed_ns, is_hit, own, rate in events:
        demand.on_request(needed_ns, needed_ns, 0, is_hit=is_hit)
        demand.on_repair(own)
        times.append(needed_ns)
        before, k = k, demand.next_limit(k, rate, how)
        assert how.k_min <= k <= how.k_max
        if how is DEFAULT:
            t_s = sorted(times)[ceil(0.95 * len(times) - 1e-9) - 1] / SECOND
            assert k >= min(how.k_max, rate * t_s + 1 - 1e-6)
            assert k >= 9 * before // 10


# What is kept


def test_the_oldest_goes_first_whatever_its_number() -> None:
    caches = RepairCache()
    for seq in (9, 2, 7, 4, 1, 8):
        caches.put(frame(seq), now=0)
    assert get(caches, MessageId(1, 1, 9)) is None
    for seq in (2, 7, 4, 1, 8):
        found = get(caches, MessageId(1, 1, seq))
        assert found is not None
        assert found.seq == seq
    assert get(caches, MessageId(1, 2, 8)) is None
    assert get(caches, MessageId(2, 1, 8)) is None


def test_one_that_comes_again_is_no_younger() -> None:
    caches = RepairCache()
    for seq in (1, 2, 3, 4, 5, 1, 6):
        caches.put(frame(seq), now=0)
    assert caches.find(MessageId(1, 1, 1)) is None
    assert caches.find(MessageId(1, 1, 2)) is not None


def test_a_sample_counts_since_the_one_before() -> None:
    caches = RepairCache()
    for seq in range(3):
        caches.put(frame(seq, payload=10), now=0)
    get(caches, MessageId(1, 1, 0))
    get(caches, MessageId(1, 1, 1))
    get(caches, MessageId(1, 1, 7))
    caches.find(MessageId(1, 1, 7))
    assert caches.sample() == [CacheStatus(1, 3, 5, 3 * (EMPTY + 10), 2, 1)]
    assert caches.sample() == [CacheStatus(1, 3, 5, 3 * (EMPTY + 10), 0, 0)]


def limit(caches: RepairCache) -> int:
    [held] = caches.sample()
    return held.limit_messages


@pytest.mark.spec("R4")
def test_it_sizes_itself_by_the_age_of_what_it_no_longer_has() -> None:
    caches = RepairCache()
    for seq in range(50):
        caches.put(frame(seq), now=seq * 20 * MILLISECOND)
    # It would have been there for .9 s when the request came, which takes .1 s.
    assert get(caches, MessageId(1, 1, 3), age=900 * MILLISECOND, now=SECOND) is None
    caches.adapt(now=SECOND)
    assert limit(caches) == 51
    for seq in range(50, 200):
        caches.put(frame(seq), now=seq * 20 * MILLISECOND)
    assert get(caches, MessageId(1, 1, 150), age=0, now=4 * SECOND) is not None
    assert get(caches, MessageId(1, 1, 148), age=0, now=4 * SECOND) is None


@pytest.mark.spec("R4")
def test_it_sizes_itself_by_how_long_it_had_what_it_was_asked_for() -> None:
    caches = RepairCache()
    caches.put(frame(0), now=0)
    assert get(caches, MessageId(1, 1, 0), age=100 * SECOND, now=800 * MILLISECOND) is not None
    for seq in range(1, 100):
        caches.put(frame(seq), now=900 * MILLISECOND)
    caches.adapt(now=SECOND)
    assert limit(caches) == 81


def test_a_rate_over_no_time_says_nothing() -> None:
    caches = RepairCache()
    caches.put(frame(0), now=SECOND)
    get(caches, MessageId(1, 1, 7), age=SECOND, now=SECOND)
    caches.adapt(now=SECOND)
    caches.adapt(now=SECOND + 1)
    assert limit(caches) == 5
    for seq in range(1, 10):
        caches.put(frame(seq), now=SECOND + 2)
    caches.adapt(now=2 * SECOND)
    assert limit(caches) == 12


def test_a_smaller_cache_drops_what_is_too_much_at_once() -> None:
    caches = RepairCache()
    caches.put(frame(0), now=0)
    get(caches, MessageId(1, 1, 9), age=SECOND, now=0)
    caches.on_repair(1, is_own=False)
    caches.on_repair(2, is_own=False)
    for seq in range(1, 20):
        caches.put(frame(seq), now=0)
    caches.adapt(now=SECOND)
    assert limit(caches) == 23
    for seq in range(20, 50):
        caches.put(frame(seq), now=SECOND)
    assert caches.size_bytes == 23 * EMPTY
    caches.adapt(now=2 * SECOND)
    assert limit(caches) == 34
    # Then nothing comes any more, so little is needed.
    caches.adapt(now=3 * SECOND)
    assert limit(caches) == 30
    assert caches.size_bytes == 23 * EMPTY
    for now in range(4, 40):
        caches.adapt(now=now * SECOND)
    assert limit(caches) == 5
    assert caches.size_bytes == 5 * EMPTY


def test_what_is_larger_than_all_room_is_refused() -> None:
    caches = RepairCache(CacheSettings(bytes_max=EMPTY + 10))
    caches.put(frame(0, payload=11), now=0)
    assert (caches.too_large, caches.size_bytes) == (1, 0)
    caches.put(frame(1, payload=10), now=0)
    assert caches.find(MessageId(1, 1, 1)) is not None


def test_the_publishers_of_which_nothing_comes_are_forgotten_first() -> None:
    caches = RepairCache(CacheSettings(publishers_max=2))
    for pub in (1, 2, 1, 3):
        caches.put(frame(caches.publishers_evicted + pub, pub=pub), now=0)
    assert [held.publisher for held in caches.sample()] == [1, 3]
    assert caches.publishers_evicted == 1
    # A request for the forgotten one makes no new cache.
    assert get(caches, MessageId(2, 1, 2)) is None
    assert len(caches.sample()) == 2


class Naive:
    """The same on lists, given how much may be kept of each publisher."""

    def __init__(self, how: CacheSettings) -> None:
        self.how = how
        self.order: list[int] = []
        self.held: dict[int, list[Data]] = defaultdict(list)
        self.limits: dict[int, int] = {}

    def size(self, pub: int) -> int:
        return sum(map(size_of, self.held[pub]))

    def trim(self) -> None:
        for pub in self.order:
            self.held[pub] = self.held[pub][-self.limits[pub] :]
        while sum(map(self.size, self.order)) > self.how.bytes_max:
            self.held[max(self.order, key=lambda pub: (self.size(pub), -pub))].pop(0)

    def put(self, new: Data) -> None:
        if size_of(new) > self.how.bytes_max:
            return
        if new.pub not in self.order:
            self.limits[new.pub] = self.how.k_min
            if len(self.order) == self.how.publishers_max:
                self.held.pop(self.order.pop(0))
        self.order = [*[pub for pub in self.order if pub != new.pub], new.pub]
        if all(new.id != old.id for old in self.held[new.pub]):
            self.held[new.pub].append(new)
        self.trim()


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"), st.integers(0, 5), st.integers(0, 30), st.sampled_from([0, 1, 40, 900])
        ),
        st.tuples(st.just("get"), st.integers(0, 5), st.integers(0, 30), st.integers(0, 3)),
        st.tuples(st.just("repair"), st.integers(0, 5), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("adapt"), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=150,
)


@settings(max_examples=150, deadline=None)
@given(
    STEPS,
    st.sampled_from(["adaptive", "literal"]),
    st.sampled_from([EMPTY + 40, 6 * EMPTY, 20 * EMPTY, 1 << 20]),
    st.integers(1, 5),
)
def test_it_holds_what_lists_would_and_never_too_much(
    steps: list[tuple[str, int, int, int]], law: str, bytes_max: int, publishers_max: int
) -> None:
    how = CacheSettings(
        law=law,  # type: ignore[arg-type]
        k_min=2,
        k_max=9,
        bytes_max=bytes_max,
        publishers_max=publishers_max,
    )
    caches, naive, now = RepairCache(how), Naive(how), 0
    for what, pub, seq, extra in steps:
        now += 50 * MILLISECOND
        match what:
            case "put":
                new = frame(seq, pub=pub, epoch=seq % 2, payload=extra)
                caches.put(new, now=now)
                naive.put(new)
            case "get":
                id_ = MessageId(pub, seq % 2, seq)
                found = get(caches, id_, age=extra * SECOND, now=now)
                assert found == next((f for f in naive.held[pub] if f.id == id_), None)
                assert caches.find(id_) == found
            case "repair":
                caches.on_repair(pub, is_own=bool(seq))
            case _:
                now += SECOND
                caches.adapt(now=now)
                naive.limits = {held.publisher: held.limit_messages for held in caches.sample()}
                naive.trim()
        samples = caches.sample()
        assert [(held.publisher, held.messages, held.size_bytes) for held in samples] == [
            (pub, len(naive.held[pub]), naive.size(pub)) for pub in naive.order
        ]
        assert sum(held.size_bytes for held in samples) == caches.size_bytes <= bytes_max
        assert all(held.messages <= held.limit_messages <= 9 for held in samples)


def test_short_memory_is_shared_out_in_the_long_run() -> None:
    # So often that the heap is made anew, again and again.
    rng = random.Random(1)
    how = CacheSettings(k_min=50, bytes_max=30 * EMPTY)
    caches, naive = RepairCache(how), Naive(how)
    for seq in range(1_000):
        new = frame(seq, pub=min(rng.randrange(8), 5), payload=rng.choice((0, 10, 300)))
        caches.put(new, now=0)
        naive.put(new)
        assert [held.messages for held in caches.sample()] == [
            len(naive.held[pub]) for pub in naive.order
        ]
    assert caches.evicted > 900


@pytest.mark.parametrize(
    "wrong",
    [{"law": "lru"}, {"k_min": 0}, {"k_min": 400}, {"hit_ratio": 0.0}, {"bytes_max": 0}],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        CacheSettings(**wrong)  # type: ignore[arg-type]
