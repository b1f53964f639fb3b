"""Sweeps whose machines die under them: the same results, and nothing twice that was finished."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.find_spark_home import _find_spark_home

from penstock.cli import spark_submit
from penstock.lab.experiment_files import find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.pipeline.java import find_java, java_home
from tests.pipeline.cluster import cluster
from tests.pipeline.sweep.tiny import begun_in, java_above, parent_of, wait_for, write_tiny

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("spark")]

# Long enough to be killed in the middle.
LENGTH = "run.duration_s=40"
SEEDS = 6
WITHIN_S = 900


def start(directory: Path, *words: str) -> subprocess.Popen[str]:
    path = write_tiny(directory)
    command = [sys.executable, "-m", "penstock", "sweep", str(path), "--vary", LENGTH]
    more = ["--seeds", str(SEEDS), "--out", str(directory / "out"), "--json", *words]
    return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(said)
    return found


def expected(directory: Path) -> str:
    plan = ExperimentPlan(seeds=range(1, SEEDS + 1), overrides=[LENGTH], processes=1)
    return run_experiment(find_experiment(str(directory / "tiny.toml")), plan).trace_hash


def finished(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (directory / "out/runs").glob("*.json")}


def is_running(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def is_midway(directory: Path) -> bool:
    """Something is done, and something is going on."""
    return bool(finished(directory)) and bool(begun_in(directory / "out"))


def test_a_sweep_that_was_killed_takes_up_where_it_was(tmp_path: Path) -> None:
    process = start(tmp_path, "--master", "local[2,4]")
    wait_for(lambda: is_midway(tmp_path))
    process.kill()
    process.communicate(timeout=WITHIN_S)
    # What was being run when its parents died may still come to its end.
    wait_for(
        lambda: not any(Path(f"/proc/{p}").exists() for p in begun_in(tmp_path / "out").values())
    )
    before = finished(tmp_path)
    assert 0 < len(before) < 2 * SEEDS
    result = ended(start(tmp_path, "--master", "local[2,4]", "--resume"))
    after = finished(tmp_path)
    assert {name: after[name] for name in before} == before
    assert result["points"][0]["trace_hash"] == expected(tmp_path)


def test_a_cluster_that_loses_a_worker_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as (address, workers):
        process = start(tmp_path, "--master", address)
        wait_for(lambda: is_midway(tmp_path))
        os.kill(workers[0], signal.SIGKILL)
        result = ended(process)
    assert result["failed"] == []
    assert result["points"][0]["trace_hash"] == expected(tmp_path)


def test_local_executors_of_which_one_is_killed_find_the_same(tmp_path: Path) -> None:
    process = start(tmp_path, "--master", "local-cluster[2,1,1024]")
    wait_for(lambda: is_midway(tmp_path))
    worker = next(iter(begun_in(tmp_path / "out").values()))
    executor = java_above(worker)
    assert executor != process.pid
    # The executor's own parent is the Java of the session, which lives on.
    assert parent_of(executor) != process.pid
    os.kill(executor, signal.SIGKILL)
    result = ended(process)
    assert result["failed"] == []
    assert result["points"][0]["trace_hash"] == expected(tmp_path)


def test_spark_submit_runs_the_command_on_a_cluster(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    (tmp_path / "cluster").mkdir()
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home(find_java(), tmp_path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    with cluster(tmp_path / "cluster") as (address, _):
        said = subprocess.run(
            [Path(_find_spark_home(), "bin", "spark-submit"), "--master", address,
             spark_submit.__file__,
             "sweep", str(path), "--seeds", "2", "--out", str(tmp_path / "out"), "--json"],
            env=environment, check=True, capture_output=True, text=True, timeout=WITHIN_S,
        ).stdout  # fmt: skip
    result = json.loads(said.splitlines()[-1])
    alone = run_experiment(find_experiment(str(path)), ExperimentPlan(seeds=[1, 2], processes=1))
    assert result["points"][0]["trace_hash"] == alone.trace_hash
