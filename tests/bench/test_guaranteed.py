"""Streams are compared as they are said to be, and whoever is not installed is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import BENCHES, guaranteed
from bench.guaranteed import comparison
from bench.guaranteed.comparison import RATIO_GOALS, Extent, Run
from bench.guaranteed.processes import ProcessError, RoleProcess, ServerProcess, free_port
from bench.guaranteed.role import Ready
from bench.guaranteed.systems import (
    JETSTREAM_SYNCED,
    OURS,
    RABBITMQ_CLASSIC,
    RABBITMQ_QUORUM,
    SYSTEMS,
    jetstream,
    rabbitmq,
)
from bench.guaranteed.workload import BODY, BODY_BYTES, LAST_BODY, is_last
from bench.result import Case, Result


def test_bodies_have_the_size_that_is_compared() -> None:
    assert len(BODY) == len(LAST_BODY) == BODY_BYTES
    assert is_last(LAST_BODY)
    assert not is_last(BODY)


def test_our_streams_run_and_missing_systems_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for peer, program in ((jetstream, "nats-server"), (rabbitmq, "rabbitmq-server")):
        monkeypatch.setattr(peer, "_program", lambda: None)
        assert peer.missing() == f"there is no {program}: {peer.HOW_TO_INSTALL}"
    said: list[str] = []
    extent = Extent(rounds=1, seconds=0.1, warm_up_s=0.01, in_flight=(1,))
    result = comparison.measure(said.append, extent)
    assert any("1 in flight" in line for line in said)
    figures = {(case.case, case.metric): case.value for case in result.cases}
    assert figures[f"{OURS.name}, 1 in flight", "delivered"] > 0
    assert figures[f"{OURS.name}, 1 in flight", "confirmation, p50"] > 0
    assert figures["bare fdatasync", "p50"] > 0
    assert [line.partition(":")[0] for line in result.notes] == [
        f"without {system.name}" for system in SYSTEMS if system is not OURS
    ]


def test_goals_are_for_jetstream_that_syncs_and_the_quicker_queue_of_rabbitmq() -> None:
    def runs(rate: float) -> list[Run]:
        roles = {"publisher": 1e-6, "broker": 1e-6, "subscriber": 1e-6}
        return [Run(rate, rate, [], roles)]

    found = comparison._Found()
    rates = dict.fromkeys(SYSTEMS, 1_000.0)
    rates |= {OURS: 8_000.0, RABBITMQ_CLASSIC: 2_000.0, RABBITMQ_QUORUM: 4_000.0}
    for system, rate in rates.items():
        for in_flight in RATIO_GOALS:
            found.runs[system, in_flight] = runs(rate)
    result = comparison._result(found)
    assert result.ratio_goals == {
        f"{OURS.name} / {system.name}, {in_flight:,} in flight": goal
        for system in (JETSTREAM_SYNCED, RABBITMQ_QUORUM)
        for in_flight, goal in RATIO_GOALS.items()
    }
    assert result.ratios[f"{OURS.name} / {RABBITMQ_QUORUM.name}, 100 in flight"] == 2


def test_parts_become_one_result() -> None:
    assert "guaranteed" in BENCHES
    parts = [
        Result("one", [Case("a", "b", 1, "s")], {"r": 2}, {"r": ">= 1"}, ["left out"]),
        Result("two", [Case("c", "d", 3, "s")]),
    ]
    whole = guaranteed.joined(parts)
    assert whole.as_json()["bench"] == "guaranteed"
    assert [case.case for case in whole.cases] == ["a", "c"]
    assert (whole.ratios, whole.ratio_goals, whole.notes) == ({"r": 2}, {"r": ">= 1"}, ["left out"])


def test_a_server_that_ends_is_told_of_with_what_it_said(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no room here')"]
    with pytest.raises(ProcessError, match=r"does not listen at 127.*: no room here"):
        ServerProcess(command, f"127.0.0.1:{free_port()}", tmp_path)


def test_a_client_that_fails_is_told_of_with_what_it_said(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with (
        RoleProcess("publisher", "no such system", address, "s", tmp_path / "log") as role,
        pytest.raises(ProcessError, match="the publisher has ended: "),
    ):
        role.answer(Ready, 30)
