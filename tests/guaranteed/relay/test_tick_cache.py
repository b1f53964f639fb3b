"""What a relay's cache gives up."""

from __future__ import annotations

from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem


def run(start: int, stop: int, *ticks: int) -> Run:
    return Run(1, start, stop, [StreamItem(tick, 0, b"\0\0") for tick in ticks])


def test_it_reaches_so_far_behind_the_newest_tick() -> None:
    cache = TickCache(10**6, ticks_max=100)
    cache.add(run(0, 51, 10, 50))
    cache.add(run(51, 141, 140))
    assert [tick for tick, _ in cache.known.data_between(0, 1_000)] == [50, 140]
    assert cache.known.unknown(0, 141) == [(0, 40)]


def test_an_old_repair_that_passes_through_is_not_kept() -> None:
    cache = TickCache(10**6, ticks_max=100)
    cache.add(run(500, 601, 600))
    cache.add(run(0, 21, 20))
    assert cache.known.unknown(0, 601) == [(0, 500)]


def test_without_a_bound_in_time_only_bytes_count() -> None:
    cache = TickCache(10**6)
    cache.add(run(0, 1_000_001, 10, 1_000_000))
    assert cache.known.messages == 2


def test_it_keeps_old_repairs_while_there_is_room_for_them() -> None:
    cache = TickCache(10_000)
    assert cache.keeps(5)
    cache.add(run(100, 201, *range(100, 120)))
    assert cache.keeps(5)
    cache.add(run(201, 401, *range(201, 300)))
    assert cache.known.first is not None
    assert not cache.keeps(cache.known.first - 1)
    assert cache.keeps(cache.known.first)
    bounded = TickCache(10**6, ticks_max=100)
    bounded.add(run(0, 201, 200))
    assert not bounded.keeps(99)
    assert bounded.keeps(100)


def test_silence_is_what_is_known_and_holds_no_message() -> None:
    cache = TickCache(10**6)
    cache.add(run(100, 201, 150))
    assert cache.is_silent(100, 150)
    assert not cache.is_silent(100, 151)
    assert not cache.is_silent(99, 150)
