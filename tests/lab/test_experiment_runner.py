"""Whole experiments: the same result again, wherever it runs; judged, kept, compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.expectations import is_met
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.lab.result import changed_parameters, compare, read_result, write_result
from penstock.lab.single_run import Job, Outcome, run_job
from penstock.metrics.statistics import Estimate, estimate
from penstock.trace.records import Expected
from penstock.tracefile.reader import TraceReader
from tests.experiment_files import TINY, load

EXPECTING = """
[[expect]]
metric = "deliveries"
op = ">="
value = 5
published = 7
mutation = "nobody wants anything"
fails_with = { clients.listeners.subscribe.all = 0 }
"""


@pytest.fixture
def source(tmp_path: Path) -> ExperimentFile:
    return load(tmp_path, TINY + EXPECTING)


def test_a_seed_gives_the_same_traces_again_and_another_seed_others(source: ExperimentFile) -> None:
    one = run_experiment(source, ExperimentPlan(seeds=[1]))
    assert run_experiment(source, ExperimentPlan(seeds=[1])).trace_hash == one.trace_hash
    assert run_experiment(source, ExperimentPlan(seeds=[2])).trace_hash != one.trace_hash
    assert one.variants["off"]["offered"].mean == 20
    assert one.ok


def test_processes_give_what_one_process_gives(source: ExperimentFile) -> None:
    alone = run_experiment(source, ExperimentPlan(seeds=[1, 2, 3], processes=1))
    together = run_experiment(source, ExperimentPlan(seeds=[1, 2, 3], processes=2))
    assert alone.trace_hashes == together.trace_hashes
    assert alone.variants == together.variants
    assert alone.variants["off"]["deliveries"].ci95 is not None


def test_the_codec_in_the_path_changes_nothing_in_the_trace(source: ExperimentFile) -> None:
    plain = run_experiment(source, ExperimentPlan(seeds=[1], overrides=["record.hops=true"]))
    coded = run_experiment(
        source, ExperimentPlan(seeds=[1], overrides=["record.hops=true", "network.codec=true"])
    )
    assert plain.trace_hash == coded.trace_hash


def test_the_hash_seed_of_the_interpreter_changes_nothing(
    source: ExperimentFile, tmp_path: Path
) -> None:
    hashes = set()
    for seed in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-m", "penstock", "lab", "run", str(tmp_path / "t.toml"), "--json",
             "--set", "record.hops=true", "--out", str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        hashes.add(json.loads(printed)["trace_hash"])
    assert len(hashes) == 1


def test_kept_traces_hold_what_the_metrics_say(source: ExperimentFile, tmp_path: Path) -> None:
    result = run_experiment(source, ExperimentPlan(seeds=[4], keep=tmp_path / "traces"))
    reader = TraceReader(tmp_path / "traces")
    (run,) = reader.run_ids()
    assert run == "T-1.quick.off.4"
    assert reader.run(run).trace_hash == result.trace_hashes["off.4"]
    expected = sum(1 for _ in reader.records(Expected, run))
    assert expected == result.variants["off"]["expected"].mean
    assert json.loads(reader.run(run).parameters)["network"]["topology"]["size"] == 3


def test_finished_runs_are_not_repeated_unless_something_changed(
    source: ExperimentFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def counted(job: Job, progress: Callable[[float], None]) -> Outcome:
        ran.append(job.seed)
        return run_job(job, progress)

    monkeypatch.setattr("penstock.lab.run_cache.run_job", counted)
    runs = tmp_path / "runs"
    plan = ExperimentPlan(seeds=[1, 2], processes=1, runs=runs, resume=True)
    first = run_experiment(source, plan)
    assert run_experiment(source, plan).variants == first.variants
    assert ran == [1, 2]
    (runs / "T-1.quick.off.2.json").write_text("half a fi")
    run_experiment(source, plan)
    assert ran == [1, 2, 2]
    run_experiment(
        source,
        ExperimentPlan(seeds=[1], processes=1, runs=runs, resume=True, overrides=["run.drain_s=4"]),
    )
    assert ran == [1, 2, 2, 1]
    run_experiment(source, ExperimentPlan(seeds=[1], processes=1, runs=runs))
    assert ran == [1, 2, 2, 1, 1]
    # A file that is named is part of what is run.
    brokers = tmp_path / "brokers.toml"
    shape = f'network.topology={{shape="file", path="{brokers}"}}'
    for names in ('"a", "b"', '"a", "b"', '"a", "c"'):
        brokers.write_text(f"[[edge]]\nbetween = [{names}]\n")
        run_experiment(
            source,
            ExperimentPlan(seeds=[7], processes=1, runs=runs, resume=True, overrides=[shape]),
        )
    assert ran == [1, 2, 2, 1, 1, 7, 7]


def test_an_expectation_that_is_not_met_is_not_ok(source: ExperimentFile) -> None:
    mutation = ("nobody wants anything", {"clients": {"listeners": {"subscribe": {"all": 0}}}})
    # Whoever wants nothing of a market is still given its rarest topic.
    result = run_experiment(source, ExperimentPlan(seeds=[1], mutation=mutation))
    assert result.variants["off"]["deliveries"].mean < 5
    assert not result.ok


def test_an_interval_must_lie_where_it_should_as_a_whole() -> None:
    found = Estimate(10, (8, 12))
    assert is_met(found, ">=", 8)
    assert not is_met(found, ">=", 9)
    assert is_met(found, "<=", 12)
    assert not is_met(found, "<=", 11)
    assert is_met(found, "between", [8, 12])
    assert not is_met(found, "between", [9, 12])
    assert is_met(Estimate(10, None), ">=", 10)


def test_intervals_are_students() -> None:
    # Two values: t(1 degree, .975) = 12.706, half the distance is the standard error.
    found = estimate([1.0, 3.0])
    assert found.mean == 2
    assert found.ci95 is not None
    assert found.ci95[1] - 2 == pytest.approx(12.706, rel=1e-4)
    assert estimate([5.0]).ci95 is None


def test_intervals_hold_the_true_mean_as_often_as_they_say() -> None:
    import random

    rng = random.Random(1)
    inside = 0
    for _ in range(2000):
        low, high = estimate([rng.gauss(3, 2) for _ in range(5)]).ci95 or (0, 0)
        inside += low <= 3 <= high
    assert 0.935 <= inside / 2000 <= 0.965


def test_results_are_written_read_and_compared(source: ExperimentFile, tmp_path: Path) -> None:
    before = run_experiment(source, ExperimentPlan(seeds=[1, 2], processes=1))
    after = run_experiment(
        source, ExperimentPlan(seeds=[1, 2], processes=1, overrides=["network.link.delay_ms=9"])
    )
    write_result(before, tmp_path / "out" / "result.json")
    assert msgspec.to_builtins(read_result(tmp_path / "out")) == msgspec.to_builtins(before)
    assert changed_parameters(before, after) == ["off.network.link.delay_ms: 5.0 -> 9.0"]
    changes = {change.metric: change for change in compare(before, after)}
    assert changes["offered"].relative == 0
    assert not changes["offered"].is_significant
    with pytest.raises(UsageError, match="no result of"):
        read_result(tmp_path / "t.toml")
