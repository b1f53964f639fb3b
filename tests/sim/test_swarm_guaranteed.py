"""Random trees, programs and faults over guaranteed streams: what they promise holds, always."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from penstock.guaranteed.host.attaching import Attaching
from penstock.guaranteed.host.subscriber_host import SubscriberHost
from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.pubend.rows import Rows
from penstock.guaranteed.relay.child import Child
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_clock import StreamClock
from penstock.guaranteed.tick import TICKS_PER_MS
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.swarm import SwarmFailed
from penstock.sim.swarm.guaranteed import run_guaranteed
from penstock.sim.swarm.guaranteed_options import (
    FAULT_KINDS,
    KEEP_ALL,
    REFUSE,
    TREES,
    GuaranteedOptions,
    ReaderOptions,
    draw_guaranteed_options,
)
from penstock.wire.frames.guaranteed.acknowledgement import ClientAck
from penstock.wire.frames.guaranteed.publication import StoredRun
from penstock.wire.frames.guaranteed.rows import HostAck
from penstock.wire.frames.guaranteed.subscription import Attached
from tests.interpreters import said_under_hash_seeds

CHUNK = 10
SOAK_CHUNK = 50
A_FEW = range(300, 303)


@pytest.mark.parametrize("start", range(0, 50, CHUNK))
def test_guaranteed_streams_keep_their_promises(start: int) -> None:
    reports = [run_guaranteed(seed) for seed in range(start, start + CHUNK)]
    assert sum(report.confirmed for report in reports) > 100 * CHUNK
    assert sum(report.delivered for report in reports) > 100 * CHUNK
    assert sum(report.trims for report in reports) > 0
    faults = sum((Counter(report.faults) for report in reports), Counter[str]())
    assert faults.total() > 2 * CHUNK


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 2_000, SOAK_CHUNK))
def test_soak(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run_guaranteed(seed)


def test_fifty_seeds_draw_every_kind_of_run() -> None:
    drawn = [draw_guaranteed_options(seed) for seed in range(50)]
    assert {options.tree for options in drawn} == set(TREES)
    assert {kind for options in drawn for kind in options.fault_kinds} == set(FAULT_KINDS)
    assert {options.retention.drops for options in drawn} == {False, True}
    for name in (
        "pubends",
        "with_codec",
        "links_up_late",
        "queue_bytes",
        "cache_bytes",
        "sync_ns",
        "waiting_messages",
    ):
        assert len({getattr(options, name) for options in drawn}) >= 2, name
    readers = [reader for options in drawn for reader in options.readers]
    assert {reader.is_durable for reader in readers} == {False, True}
    assert {reader.joins_ns > 0 for reader in readers} == {False, True}
    assert {reader.parks for reader in readers} == {False, True}
    assert {reader.expire_s > 0 for reader in readers} == {False, True}


def ends() -> str:
    reports = [run_guaranteed(seed) for seed in A_FEW]
    return " ".join(f"{report.last_draw}/{report.deliveries_hash}" for report in reports)


def test_the_same_seed_ends_in_the_same_draw_and_deliveries_whatever_the_hash_seed() -> None:
    program = "from tests.sim.test_swarm_guaranteed import ends; print(ends())"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(A_FEW)


@pytest.mark.parametrize("seed", range(310, 313))
def test_the_codec_in_the_path_changes_nothing(seed: int) -> None:
    options = draw_guaranteed_options(seed)
    plain, coded = (
        run_guaranteed(seed, options=replace(options, with_codec=with_codec))
        for with_codec in (False, True)
    )
    assert (plain.last_draw, plain.deliveries_hash) == (coded.last_draw, coded.deliveries_hash)


def test_a_failing_seed_prints_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pubend, "appended", lambda *_, **__: None)
    with pytest.raises(SwarmFailed) as failed:
        run_guaranteed(1, options=replace(BUSY, seed=1))
    assert "[quiet] " in str(failed.value)
    assert str(replace(BUSY, seed=1)) in str(failed.value)


# The checkers can fail. Each change below breaks one promise, and a handful of seeds shows it.


def reader(broker: str, predicate: str = "true", **others: Any) -> ReaderOptions:
    drawn: dict[str, Any] = {
        "is_durable": True,
        "starts_first": True,
        "window": 1_000,
        "joins_ns": -500 * MILLISECOND,
    }
    return ReaderOptions(broker=broker, predicate=predicate, **{**drawn, **others})


BUSY = GuaranteedOptions(
    seed=0,
    tree=TREES[3],
    pubends=1,
    writers=2,
    readers=(reader("s", "k < 2"), reader("t", "k >= 2"), reader("i")),
    rate_per_s=100,
    fault_time_ns=2 * SECOND,
    faults=16,
    fault_kinds=("crash", "cut", "cut_in_recovery", "mend_one", "mend_one", "mend_one"),
    links_up_late=False,
    with_codec=False,
    rate_bps=None,
    window_bytes=64 * 1024,
    sync_ns=20 * MILLISECOND,
    roll_records=64,
    drift_ppm=0,
    queue_bytes=5_000_000,
    cache_bytes=64_000_000,
    repair_slice_bytes=256 * 1024,
    catch_up_readers_max=16,
    # So that readers without credit catch up from the log.
    waiting_messages=0,
    retention=KEEP_ALL,
)
LONG = replace(BUSY, fault_time_ns=4 * SECOND, faults=25)
# Links that are too slow lose the newest messages, not whole stretches.
OVERFLOWING = replace(LONG, rate_bps=30_000, window_bytes=2_000, queue_bytes=2_000, faults=3)
# Readers take their time, so they catch up by themselves.
SLOW_READERS = replace(
    BUSY,
    readers=(
        reader("s", "k = 1", window=1),
        reader("s", "k < 2"),
        reader("t", "k >= 2", window=1),
        reader("t"),
    ),
)
# Relays remember little, so that the pubend has to answer readers.
FORGETFUL_RELAYS = replace(SLOW_READERS, cache_bytes=2_000)
# What every host has read is trimmed at once; readers join late, and read it from the beginning.
TRIMMING = replace(
    BUSY,
    faults=3,
    retention=REFUSE,
    readers=(
        reader("s"),
        reader("t"),
        *(reader("s", joins_ns=SECOND + at * 500 * MILLISECOND, window=1) for at in range(5)),
    ),
)
CRASHING_READERS = replace(LONG, fault_kinds=("crash", "reader_crash", "mend_one", "mend_one"))
# They begin with what is published from now on.
JOINING = replace(
    BUSY,
    sync_ns=100 * MILLISECOND,
    readers=tuple(
        reader(broker, starts_first=False, joins_ns=at * SECOND // 2)
        for at, broker in enumerate("sptisptis")
    ),
)
STEPPED_CLOCKS = replace(BUSY, fault_kinds=("clock_step", "clock_step", "crash", "mend_one"))
CHANGING_FILTERS = replace(
    SLOW_READERS, fault_kinds=("cut", "cut_in_recovery", "filter_change", "mend_one", "mend_one")
)
ALL = {
    "busy": BUSY,
    "long": LONG,
    "overflowing": OVERFLOWING,
    "slow readers": SLOW_READERS,
    "forgetful relays": FORGETFUL_RELAYS,
    "trimming": TRIMMING,
    "crashing readers": CRASHING_READERS,
    "joining": JOINING,
    "stepped clocks": STEPPED_CLOCKS,
    "changing filters": CHANGING_FILTERS,
}


def blamed(options: GuaranteedOptions, seeds: Iterable[int]) -> set[str]:
    """Which checkers object, in the first run that fails."""
    for seed in seeds:
        try:
            run_guaranteed(seed, options=replace(options, seed=seed))
        except SwarmFailed as failed:
            lines = str(failed).split("\n\noptions:")[0].splitlines()
            return {line.split("[")[1].split("]")[0] for line in lines}
    return set()


@pytest.mark.parametrize("name", ALL)
def test_the_unchanged_machines_pass(name: str) -> None:
    seeds = {seed for *_, options, _, seed in MUTANTS.values() if options is ALL[name]}
    assert not blamed(ALL[name], sorted(seeds or {0}))


def confirms_before_the_sync(take: Any) -> Any:
    def mutant(self: Pubend, port: str, publisher: str, records: list[Any], now: int) -> None:
        take(self, port, publisher, records, now)
        runs = [StoredRun(each.publication, 1, self.id, each.tick, False) for each in records]
        self._confirm(port, self.stream, runs)

    return mutant


def says_silence_beyond_the_horizon(say_silence: Any) -> Any:
    def mutant(self: Pubend, now: int) -> None:
        say_silence(self, now)
        start = self.horizon(now)
        self._send(Run(self.id, start, start + 10 * TICKS_PER_MS, []))

    return mutant


def ignores_the_lease(begin: Any) -> Any:
    return lambda self, started, wall_ms, _lease: begin(self, started, wall_ms, 0)


def caches_the_silence_of_readers(pass_to_reader: Any) -> Any:
    def mutant(self: Relay, frame: Any) -> None:
        if isinstance(frame, Run):
            self.cache.add(frame)
        pass_to_reader(self, frame)

    return mutant


def takes_one_acknowledgement_for_all(acknowledge: Any) -> Any:
    """As if a relay had merged the rows of its hosts, and knew one of them only."""

    def mutant(self: Rows, entry: HostAck, **others: Any) -> None:
        for host, row in list(self.by_host.items()):
            acknowledge(self, HostAck(host, row.serial, entry.tick), **others)

    return mutant


def covers_its_own_gap(_skip: Any) -> Any:
    return lambda _self, _position: None


def acknowledges_before_it_is_saved(on_ack: Any) -> Any:
    def mutant(self: SubscriberHost, subscription: Any, frame: ClientAck, *others: Any) -> None:
        self._send(subscription.port, _acked(subscription, frame))
        on_ack(self, subscription, frame, *others)

    return mutant


def _acked(subscription: Any, frame: ClientAck) -> Any:
    from penstock.wire.frames.guaranteed.acknowledgement import Acked

    return Acked(subscription=subscription.number, positions=frame.positions)


def confirms_before_it_is_held(hold: Any) -> Any:
    def mutant(self: Attaching, subscription: Any, *others: Any, **named: Any) -> None:
        hold(self, subscription, *others, **named)
        attached = Attached(subscription=subscription.number, resumed=False, positions=())
        self._send(subscription.port, attached)

    return mutant


def takes_overtaken_acknowledgements(acknowledge: Any) -> Any:
    def mutant(self: Rows, entry: HostAck, **others: Any) -> None:
        row = self.by_host.get(entry.host)
        serial = entry.serial if row is None else max(entry.serial, row.serial)
        acknowledge(self, HostAck(entry.host, serial, entry.tick), **others)

    return mutant


def keeps_silence_of_a_narrower_filter(_widen: Any) -> Any:
    return lambda _self, _tick: None


MUTANTS: dict[str, tuple[type, str, Callable[[Any], Any], GuaranteedOptions, set[str], int]] = {
    "confirmation before sync": (
        Pubend, "_take", confirms_before_the_sync, LONG, {"delivery"}, 3,
    ),
    "silence beyond the horizon": (
        Pubend, "_say_silence", says_silence_beyond_the_horizon, BUSY, {"decided ticks"}, 0,
    ),
    "no lease": (
        StreamClock, "__init__", ignores_the_lease, STEPPED_CLOCKS, {"raised", "decided ticks"}, 0,
    ),
    "a relay caches the silence of readers": (
        Relay, "_pass_to_reader", caches_the_silence_of_readers, FORGETFUL_RELAYS, {"delivery"}, 4,
    ),
    "minimum ACK at a fresh relay": (
        Rows, "acknowledge", takes_one_acknowledgement_for_all, TRIMMING,
        {"trim", "quiet"}, 1,
    ),
    "a relay covers its own gap": (
        Child, "skip", covers_its_own_gap, OVERFLOWING, {"delivery"}, 0,
    ),
    "a cursor acknowledged before it is saved": (
        SubscriberHost, "_on_ack", acknowledges_before_it_is_saved, CRASHING_READERS,
        {"acknowledged"}, 1,
    ),
    "a subscription confirmed before HELD": (
        Attaching, "_hold", confirms_before_it_is_held, JOINING, {"delivery"}, 0,
    ),
    "an overtaken ACK raises a row": (
        Rows, "acknowledge", takes_overtaken_acknowledgements, TRIMMING, {"trim"}, 1,
    ),
    "cached silence kept when a filter widens": (
        TickCache, "widen", keeps_silence_of_a_narrower_filter, CHANGING_FILTERS, {"delivery"}, 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_machine_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed is known to show it; others do if what is drawn has changed since."""
    owner, attribute, mutate, options, expected, seed = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutate(getattr(owner, attribute)))
    assert blamed(options, [seed, *range(10)]) & expected
