"""Random networks, applications and faults over a transport: what it promises holds, always."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import MILLISECOND
from penstock.sim.loss import Bernoulli
from penstock.sim.swarm import SwarmFailed
from penstock.sim.swarm.__main__ import main
from penstock.sim.swarm.endpoint_options import ORDERINGS, EndpointOptions, draw_endpoint_options
from penstock.sim.swarm.endpoints import run_endpoints
from penstock.trace.fates import ReceiverFate
from penstock.transport.endpoint import Endpoint
from penstock.transport.order.latch import ConstantLatch
from penstock.transport.order.missing import MISSING, MissingEntry, unblock
from penstock.transport.order.reorder_buffer import BufferedMessage, ReorderBuffer
from penstock.transport.order.stream import OrderedStream
from penstock.transport.order.stream_context import StreamContext
from penstock.transport.receive.publisher_image import PublisherImage
from penstock.transport.record.matcher import RecordMatcher
from penstock.transport.recovery.cache import _PublisherCache
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.requester import Requester
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import DEFAULT, OrderingSettings
from tests.interpreters import said_under_hash_seeds
from tests.sim.codec_pair import without_and_with_codec

CHUNK = 10
SOAK_CHUNK = 50
# Of all kinds: with and without codec, workers, clock offsets and faults.
A_FEW = range(300, 306)


@pytest.mark.parametrize("start", range(0, 100, CHUNK))
def test_a_transport_keeps_its_promises(start: int) -> None:
    reports = [run_endpoints(seed) for seed in range(start, start + CHUNK)]
    receipts = sum((Counter(report.deliveries) for report in reports), Counter[str]())
    absences = sum((Counter(report.missing) for report in reports), Counter[str]())
    assert receipts["delivered"] > 100 * CHUNK
    assert receipts["delivered_late"] + receipts["dropped_late"] > CHUNK
    assert absences["given_up"] + absences["delivered"] > CHUNK


def test_a_hundred_seeds_get_something_back() -> None:
    """Where there is recovery; that nothing else comes of it is checked in each."""
    recovering = [seed for seed in range(100) if draw_endpoint_options(seed).recoveries != (None,)]
    reports = [run_endpoints(seed) for seed in recovering[:6]]
    assert sum(report.deliveries.get("repaired", 0) for report in reports) >= len(reports)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 6_000, SOAK_CHUNK))
def test_soak(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run_endpoints(seed)


def hashes() -> str:
    return " ".join(run_endpoints(seed).facts_hash for seed in A_FEW)


def test_the_same_seed_gives_the_same_facts_whatever_the_hash_seed() -> None:
    program = "from tests.sim.test_swarm_endpoints import hashes; print(hashes())"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(A_FEW)


@pytest.mark.parametrize("seed", range(310, 313))
def test_the_codec_in_the_path_changes_nothing(seed: int) -> None:
    plain, coded = without_and_with_codec(draw_endpoint_options(seed))
    assert plain.facts_hash == coded.facts_hash
    assert plain.arrived_frames == coded.arrived_frames > 0


def test_a_hundred_seeds_draw_every_kind_of_run() -> None:
    drawn = [draw_endpoint_options(seed) for seed in range(100)]
    orderings = [ordering for options in drawn for ordering in options.orderings]
    latches = {(o.latch, o.record_used, o.bloom, o.is_cautious) for o in orderings}
    assert latches == {(o.latch, o.record_used, o.bloom, o.is_cautious) for o in ORDERINGS.values()}
    assert {o.late for o in orderings} == {"deliver", "drop"}
    assert {o.held_max for o in orderings} >= {1, 1_000}
    assert {options.settings.publishers_max for options in drawn} == {1, 2, 16_384}
    blooms = {options.settings.record.bloom for options in drawn}
    assert blooms == {None, BloomParams(128, 3), BloomParams()}
    assert {options.network.workers for options in drawn} == {0, 2, 4}
    assert {options.network.corrupts_frames for options in drawn} == {False, True}
    kinds = {kind for options in drawn for kind in options.network.fault_kinds}
    assert len(kinds) == 6
    recoveries = [recovery for options in drawn for recovery in options.recoveries]
    assert None in recoveries
    there = [recovery for recovery in recoveries if recovery is not None]
    assert {r.requests_as for r in there} == {"class", "message"}
    assert {r.reply for r in there} == {"auto", "publish", "unicast"}
    for switch in ("volunteers", "publisher_answers", "names_first", "digests"):
        assert {getattr(r, switch) for r in there} == {False, True}
    assert {r.cache.law for r in there} == {"adaptive", "literal"}
    assert {options.cache_chance > 0 for options in drawn} == {False, True}
    assert {o.hold_for_repair_ns > 0 for o in orderings} == {False, True}


def test_the_command_prints_options_faults_and_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["swarm", "4", "--endpoints", "--verbose"])
    assert main() == 0
    said = capsys.readouterr().out
    report = run_endpoints(4)
    assert str(report.options) in said
    assert all(str(fault) in said for fault in report.faults)
    assert "everybody has enough" in said
    assert f"facts {report.facts_hash}" in said


# The checker can fail. Each change below breaks one promise.

# Loss, overtaking, changes of mind and crashes; orderings of all kinds, and tight bounds.
_DRAWN = draw_endpoint_options(5)
BUSY = replace(
    _DRAWN,
    network=replace(
        _DRAWN.network,
        topology="line",
        brokers=2,
        clients=4,
        link=replace(_DRAWN.network.link, rate_bps=None, loss=Bernoulli(0.05)),
        access=replace(_DRAWN.network.access, loss=None),
        workers=4,
        service_ns=2 * MILLISECOND,
        codec=False,
        stagger_ns=0,
        offset_ns_max=0,
        drift_ppm_max=100,
        faults=4,
        fault_kinds=("duplication", "crash"),
        changes_per_s=10,
        messages_per_s=400,
        payload_bytes=0,
        safety_ns=700 * MILLISECOND,
    ),
    settings=replace(
        _DRAWN.settings,
        record=replace(_DRAWN.settings.record, size=10, cover_ns=None, bloom=None),
        publishers_max=16_384,
    ),
    interests=("a < 8", "a in (1, 2, 3, 4, 5)", "b != 3"),
    orderings=(
        DEFAULT,
        OrderingSettings(late="drop", max_delay_ns=5 * MILLISECOND, remember_ns=10 * MILLISECOND),
        OrderingSettings(
            bloom=BloomParams(64, 2), held_max=3, missing_max=3, remember_ns=10 * MILLISECOND
        ),
    ),
    burst_max=20,
    burst_gap_ns=500_000,
    calm_ns=0,
    recoveries=(None,),
    cache_chance=0,
)
# What is missing is soon given up.
HASTY = replace(
    BUSY,
    orderings=(
        OrderingSettings(
            latch=ConstantLatch(MILLISECOND), loss_share=0, remember_ns=0, missing_max=100
        ),
    ),
)
# What is lost is asked for, at once and nearby; there is room for little.
RECOVERING = replace(
    BUSY,
    interests=("a in (1, 2, 3, 4, 5)", "true"),
    orderings=(DEFAULT, OrderingSettings(hold_for_repair_ns=50 * MILLISECOND)),
    calm_ns=500 * MILLISECOND,
    recoveries=(
        replace(
            RecoverySettings(digests=False, distance_ns=5 * MILLISECOND, group_min=2),
            cache=CacheSettings(k_min=50, k_max=50),
        ),
    ),
)
TWO_PUBLISHERS = replace(BUSY, settings=replace(BUSY.settings, publishers_max=2))


def blamed(options: EndpointOptions, runs: int = 4) -> set[str]:
    """What is objected to, in a few runs; one must fail."""
    for seed in range(runs):
        try:
            run_endpoints(
                seed, options=replace(options, network=replace(options.network, seed=seed))
            )
        except SwarmFailed as failed:
            lines = str(failed).split("\n\noptions:")[0].splitlines()
            return {line.split("[")[1].split("]")[0] for line in lines}
    return set()


def test_the_unchanged_transport_passes() -> None:
    assert not blamed(BUSY)
    assert not blamed(HASTY, runs=2)
    assert not blamed(TWO_PUBLISHERS, runs=2)
    assert not blamed(RECOVERING)


def forgetful(add: Any) -> Any:
    def mutant(self: PublisherImage, number: int) -> bool:
        add(self, number)
        return True

    return mutant


def unrelenting(ring: Any) -> Any:
    def mutant(self: OrderedStream, missing: MissingEntry, now: int) -> None:
        if missing.state is MISSING:
            self._context.timers.set(missing, now + 10_000 * MILLISECOND)
        else:
            ring(self, missing, now)

    return mutant


def closes_without_a_word(_close: Any) -> Any:
    def mutant(self: OrderedStream, now: int) -> None:
        for missing in list(self._blocking):
            self._release(missing, now)
        self._deliver_ready(now)

    return mutant


def closes_with_all_it_holds(close: Any) -> Any:
    def mutant(self: OrderedStream, now: int) -> None:
        self._buffer.take_below(None)
        close(self, now)

    return mutant


def matches_everything(_matching: Any) -> Any:
    return lambda self, _message: list(self._interests_by_predicate.values())


def takes_its_time(_latest: Any) -> Any:
    return lambda _self, _missing, now: now + 2_000 * MILLISECOND


def hands_over_backwards(take_below: Any) -> Any:
    return lambda self, number: take_below(self, number)[::-1]


def calls_nothing_late(hand_over: Any) -> Any:
    def mutant(self: OrderedStream, *arguments: Any) -> None:
        hand_over(self, *arguments[:-1], ReceiverFate.DELIVERED)

    return mutant


def drops_what_is_to_be_delivered(hand_over: Any) -> Any:
    def mutant(self: OrderedStream, *arguments: Any) -> None:
        *rest, fate = arguments
        is_late = fate is ReceiverFate.DELIVERED_LATE
        hand_over(self, *rest, ReceiverFate.DROPPED_LATE if is_late else fate)

    return mutant


def swallows_some(take: Any) -> Any:
    def mutant(self: OrderedStream, frame: Any, number: int, now: int) -> None:
        if number % 50:
            take(self, frame, number, now)

    return mutant


def ends_in_silence(end: Any) -> Any:
    def mutant(self: OrderedStream, missing: MissingEntry, resolution: Any, now: int) -> None:
        if missing.extended_seq % 3:
            end(self, missing, resolution, now)
        else:
            del self.missing[missing.extended_seq]
            unblock(self._blocking, missing)
            self._context.timers.cancel(missing)

    return mutant


def ends_twice(end: Any) -> Any:
    def mutant(self: OrderedStream, missing: MissingEntry, resolution: Any, now: int) -> None:
        end(self, missing, resolution, now)
        self.missing[missing.extended_seq] = missing
        end(self, missing, resolution, now)

    return mutant


def gives_up_what_came(end: Any) -> Any:
    return lambda self, missing, _resolution, now: end(self, missing, ReceiverFate.GIVEN_UP, now)


def is_blind(_reveal: Any) -> Any:
    return lambda *_: []


def always(value: Any) -> Callable[[Any], Any]:
    return lambda _original: lambda *_, **__: value


def hoards(_hold: Any) -> Any:
    return lambda self, frame, number, now: self._buffer.add(BufferedMessage(number, frame, now, 0))


def calls_repairs_originals(_take_repair: Any) -> Any:
    return lambda self, frame, number, now: self.on_message(frame, number, now)


def takes_a_repair_for_the_original(_take_repair: Any) -> Any:
    def mutant(self: Endpoint[Any], frame: Any, now: int, **_: Any) -> bool:
        self.on_data(frame, now)
        return True

    return mutant


def swallows_repairs(take_repair: Any) -> Any:
    def mutant(self: OrderedStream, frame: Any, number: int, now: int) -> None:
        if number in self.missing:
            take_repair(self, frame, number, now)

    return mutant


MUTATIONS: list[tuple[type, str, Callable[[Any], Any], str, EndpointOptions]] = [
    (PublisherImage, "add", forgetful, "once", BUSY),
    (Endpoint, "_matching_interests", matches_everything, "exact", BUSY),
    (OrderedStream, "on_timer", unrelenting, "patience", BUSY),
    (OrderedStream, "_latest_release", takes_its_time, "patience", BUSY),
    (ReorderBuffer, "take_below", hands_over_backwards, "order", BUSY),
    (OrderedStream, "_deliver", calls_nothing_late, "order", BUSY),
    (OrderedStream, "_deliver", drops_what_is_to_be_delivered, "order", BUSY),
    (OrderedStream, "on_message", swallows_some, "receipts", BUSY),
    (OrderedStream, "close", closes_with_all_it_holds, "receipts", BUSY),
    (OrderedStream, "close", closes_without_a_word, "fates", BUSY),
    (OrderedStream, "_resolve", ends_in_silence, "fates", BUSY),
    (OrderedStream, "_resolve", ends_twice, "fates", BUSY),
    (OrderedStream, "_resolve", gives_up_what_came, "fates", BUSY),
    (OrderedStream, "on_irrelevant", always(None), "fates", BUSY),
    (RecordMatcher, "match_record", is_blind, "fates", BUSY),
    (OrderedStream, "_make_room", always(True), "bounds", BUSY),
    (OrderedStream, "_buffer_message", hoards, "bounds", BUSY),
    (Endpoint, "_evict", always(None), "bounds", TWO_PUBLISHERS),
    (OrderedStream, "_is_resolved", always(False), "counts", HASTY),
    (Endpoint, "on_repair", takes_a_repair_for_the_original, "delays", RECOVERING),
    (Endpoint, "on_repair", always(True), "receipts", RECOVERING),
    (Endpoint, "_is_awaited", always(False), "losses", RECOVERING),
    (Requester, "cancel", always(None), "losses", RECOVERING),
    (Requester, "request", always(None), "losses", RECOVERING),
    (OrderedStream, "on_repair", swallows_repairs, "receipts", RECOVERING),
    (OrderedStream, "on_repair", calls_repairs_originals, "order", RECOVERING),
    (_PublisherCache, "shrink", always(None), "bounds", RECOVERING),
    (StreamContext, "count", always(None), "counts", HASTY),
]


@pytest.mark.parametrize(
    ("owner", "name", "mutate", "check", "options"),
    MUTATIONS,
    ids=[f"{owner.__name__}.{name}-{check}" for owner, name, _, check, _ in MUTATIONS],
)
def test_a_broken_promise_is_found(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    mutate: Callable[[Any], Any],
    check: str,
    options: EndpointOptions,
) -> None:
    monkeypatch.setattr(owner, name, mutate(getattr(owner, name)))
    assert check in blamed(options)


def test_a_transport_that_takes_old_epochs_for_new_ones_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restless = replace(BUSY, network=replace(BUSY.network, changes_per_s=60))
    assert not blamed(restless, runs=1)
    monkeypatch.setattr("penstock.transport.receive.inbound._is_new_epoch", lambda *_: True)
    assert "counts" in blamed(restless)
