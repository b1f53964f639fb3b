"""Random networks and faults over a transport with congestion control: what it promises holds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.swarm.__main__ import main
from penstock.sim.swarm.endpoint_options import (
    BOTTLENECKS_BPS,
    EndpointOptions,
    draw_controlled_options,
    draw_endpoint_options,
)
from penstock.sim.swarm.endpoints import EndpointReport, run_endpoints
from penstock.transport.congestion.controller import CongestionController
from penstock.transport.congestion.receiver.sessions import SessionTable
from penstock.transport.congestion.sender.feedback_limits import FeedbackLimits
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.flow_table import FlowTable
from penstock.transport.congestion.sender.send_queue import SendQueue
from penstock.transport.congestion.sender.sender import SendController
from penstock.transport.congestion.settings import CongestionSettings
from tests.interpreters import said_under_hash_seeds
from tests.sim.codec_pair import without_and_with_codec
from tests.sim.test_swarm_endpoints import BUSY, always, blamed

CHUNK = 10
SOAK_CHUNK = 50
# One of each law.
A_FEW = (300, 301, 316)
OVERTAKEN_BY_A_DIGEST = 1_186


def run(seed: int) -> EndpointReport:
    return run_endpoints(seed, options=draw_controlled_options(seed))


@pytest.mark.parametrize("start", range(0, 40, CHUNK))
def test_a_transport_with_congestion_control_keeps_its_promises(start: int) -> None:
    reports = [run(seed) for seed in range(start, start + CHUNK)]
    submitted = sum((Counter(report.submitted) for report in reports), Counter[str]())
    counters = sum((Counter(report.counters) for report in reports), Counter[str]())
    assert submitted["sent later"] > 10 * CHUNK
    assert submitted["dropped at source"] == counters["dropped_at_source"] > CHUNK
    assert counters["feedback"] > CHUNK
    for report in reports:
        assert report.submitted.get("sent", 0) == report.published


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 1_500, SOAK_CHUNK))
def test_soak(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run(seed)


def test_a_message_that_was_given_up_before_it_arrived_is_not_delivered() -> None:
    """A digest announced it; `remember_ns` is 0. Congestion control has no part in it."""
    run(OVERTAKEN_BY_A_DIGEST)


def hashes() -> str:
    return " ".join(run(seed).facts_hash for seed in A_FEW)


def test_the_same_seed_gives_the_same_facts_whatever_the_hash_seed() -> None:
    program = "from tests.sim.test_swarm_control import hashes; print(hashes())"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(A_FEW)


@pytest.mark.parametrize("seed", range(310, 313))
def test_the_codec_in_the_path_changes_nothing(seed: int) -> None:
    plain, coded = without_and_with_codec(draw_controlled_options(seed))
    assert plain.facts_hash == coded.facts_hash
    assert plain.submitted == coded.submitted
    assert plain.arrived_frames == coded.arrived_frames > 0


def test_congestion_control_is_added_to_a_run_drawn_without_it() -> None:
    plain, controlled = draw_endpoint_options(7), draw_controlled_options(7)
    assert not plain.is_controlled
    assert controlled.is_controlled
    for field in ("settings", "interests", "orderings", "recoveries", "burst_max"):
        assert getattr(plain, field) == getattr(controlled, field)
    assert run_endpoints(7).submitted == {}


def test_forty_seeds_draw_every_kind_of_control() -> None:
    drawn = [draw_controlled_options(seed) for seed in range(40)]
    everyone = [settings for options in drawn for settings in options.congestion]
    assert None in everyone
    there = [settings for settings in everyone if settings is not None]
    assert {s.law for s in there} == {"equation", "literal", "window"}
    assert {s.policy for s in there} == {"block", "drop-oldest", "drop-newest"}
    assert {s.strict for s in there} == {False, True}
    assert {s.queue_max for s in there} == {1, 10, 50, 1_000}
    assert {s.flows_max for s in there} == {1, 3, 4_096}
    assert {s.flows_each_max for s in there} == {1, 64}
    assert {s.initial_rate_mps for s in there} == {5, 20, 100, 1_000}
    assert {s.rate_min_mps for s in there} == {1, 5, 20}
    assert {options.weights for options in drawn} == {(1,), (1, 3), (0.5, 1, 10)}
    assert {options.ecn_threshold for options in drawn} == {None, 0.1, 0.5}
    for link in ("link", "access"):
        rates = {getattr(options.network, link).rate_bps for options in drawn}
        assert rates > {*BOTTLENECKS_BPS}
    assert {options.recoveries != (None,) for options in drawn} == {False, True}


def test_the_command_prints_what_became_of_submitted_messages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["swarm", "4", "--endpoints", "--control"])
    assert main() == 0
    said = capsys.readouterr().out
    report = run(4)
    assert str(report.options) in said
    assert f"facts {report.facts_hash}" in said
    assert f"{report.submitted['submitted']} submitted" in said
    monkeypatch.setattr(sys, "argv", ["swarm", "4", "--control"])
    with pytest.raises(SystemExit):
        main()
    assert "--endpoints" in capsys.readouterr().err


# The checker can fail. Each change below breaks one promise.

SETTINGS = CongestionSettings(
    initial_rate_mps=20.0, rate_min_mps=20.0, queue_max=10, policy="drop-oldest"
)
# Many messages of few kinds over a narrow link, so that messages are queued and dropped.
NARROW = replace(
    BUSY,
    network=replace(
        BUSY.network,
        link=replace(BUSY.network.link, rate_bps=300_000, queue_bytes_max=10_000),
        safety_ns=SECOND,
        fault_kinds=("duplication",),
    ),
    calm_ns=300 * MILLISECOND,
    congestion=(SETTINGS,),
)
STRICT = replace(NARROW, congestion=(replace(SETTINGS, strict=True),))
# Runs longer than the oldest message may wait.
PATIENT = replace(NARROW, calm_ns=2 * SECOND)
ONE_FLOW = replace(NARROW, congestion=(replace(SETTINGS, flows_max=1, flows_each_max=1),))


def test_the_unchanged_transport_passes() -> None:
    assert not blamed(NARROW, runs=2)
    assert not blamed(STRICT, runs=2)
    assert not blamed(PATIENT, runs=2)
    assert not blamed(ONE_FLOW, runs=2)


def has_no_bound(submit: Any) -> Any:
    def mutant(self: Any, *arguments: Any) -> Any:
        self._queue_max = 1_000_000
        return submit(self, *arguments)

    return mutant


def keeps_what_it_drops(_drop_oldest: Any) -> Any:
    return lambda self, _now: self.queued()[0]


def sends_backwards(ready: Any) -> Any:
    return lambda self, now: iter([*ready(self, now)][::-1])


def forgets_some(ready: Any) -> Any:
    def mutant(self: SendController, now: int) -> Iterator[Any]:
        for queued in ready(self, now):
            if queued[0].age % 5:
                yield queued

    return mutant


def sends_some_twice(ready: Any) -> Any:
    def mutant(self: SendController, now: int) -> Iterator[Any]:
        for queued in ready(self, now):
            yield queued
            if not queued[0].age % 5:
                yield queued

    return mutant


def skips_numbers(next_seq: Any) -> Any:
    def mutant(self: ControlledFlow, now: int) -> None:
        self.last_seq += not self.last_seq % 7
        next_seq(self, now)

    return mutant


def reports_no_wait(ready: Any) -> Any:
    def mutant(self: CongestionController, now: int) -> Iterator[Any]:
        for queued, header in ready(self, now):
            yield queued._replace(submitted_ns=now), header

    return mutant


def takes_too_long(ready_ns: Any) -> Any:
    return lambda self, now: ready_ns(self, now) + 1_000 * SECOND


def remembers_unknown_receivers(refuse: Any) -> Any:
    def mutant(self: FeedbackLimits, receiver: int, reason: str, times: int = 1) -> None:
        refuse(self, receiver, reason, times)
        refuse(self, -len(self._refusals), reason, times)

    return mutant


MUTATIONS: list[tuple[type, str, Callable[[Any], Any], str, EndpointOptions]] = [
    (SendController, "submit", has_no_bound, "bounds", NARROW),
    (SendQueue, "drop_oldest", keeps_what_it_drops, "source", NARROW),
    (SendQueue, "ready", sends_backwards, "sequence", STRICT),
    (SendQueue, "ready", sends_backwards, "sequence", NARROW),
    (SendQueue, "_is_head", always(True), "sequence", STRICT),
    (SendController, "ready", forgets_some, "source", NARROW),
    (SendController, "ready", sends_some_twice, "source", NARROW),
    (CongestionController, "ready", reports_no_wait, "source", NARROW),
    (SendController, "_leaves_now", always(True), "start", NARROW),
    (ControlledFlow, "ready_ns", takes_too_long, "stall", PATIENT),
    (ControlledFlow, "next_seq", skips_numbers, "numbers", NARROW),
    (FlowTable, "_has_room", always(True), "bounds", ONE_FLOW),
    (SessionTable, "unsubscribed", always(None), "bounds", NARROW),
    (FeedbackLimits, "refuse", remembers_unknown_receivers, "bounds", ONE_FLOW),
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
