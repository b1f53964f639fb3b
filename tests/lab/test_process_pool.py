"""Whoever is told to stop ends its workers, and says so in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.experiment_files import TINY

ENDLESS = TINY.replace("duration_s = 2\n", "duration_s = 100000\n")

# None of it measures anything: only what hangs takes as long.
_HANGS_S = 60
_LOOKS_S = 0.02


def _are_born(leader: int, _place: Path) -> bool:
    """Itself, two workers and their tracker: the workers import, or do not even do that yet."""
    return len(_session(leader)) >= 4


def _simulate(_leader: int, place: Path) -> bool:
    """One of them at least, for it writes its trace."""
    return len(list((place / "traces").glob("*/*.parquet*"))) >= 2


@pytest.mark.parametrize("workers", [_are_born, _simulate])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_and_its_workers_with_one_line(
    tmp_path: Path, workers: Callable[[int, Path], bool], number: signal.Signals
) -> None:
    (tmp_path / "t.toml").write_text(ENDLESS)
    command = [sys.executable, "-m", "penstock", "lab", "run", "t.toml", "--seeds", "5"]
    running = subprocess.Popen(
        [*command, "--processes", "2", "--keep", "--out", "out"],
        cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while not workers(running.pid, tmp_path / "out"):
            assert running.poll() is None
            time.sleep(_LOOKS_S)
        # A terminal tells all of them, a supervisor the first; more runs wait for a worker.
        (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
        _, said = running.communicate(timeout=_HANGS_S)
        assert said == "penstock: stopped; --resume takes up what was finished\n"
        assert running.returncode == 128 + number
        while any("spawn_main" in line for line in _session(running.pid)):
            time.sleep(_LOOKS_S)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()


def test_whoever_is_killed_leaves_nobody_running(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(ENDLESS)
    command = [sys.executable, "-m", "penstock", "lab", "run", "t.toml", "--seeds", "2"]
    running = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    try:
        while not _are_born(running.pid, tmp_path):
            assert running.poll() is None
            time.sleep(_LOOKS_S)
    finally:
        running.kill()
        running.wait()
    while _session(running.pid):
        time.sleep(_LOOKS_S)


def _session(leader: int) -> list[str]:
    """The processes of a session that still run."""
    listed = subprocess.run(
        ["ps", "-o", "stat=,args=", "-s", str(leader)], capture_output=True, text=True, check=False
    )
    return [line for line in listed.stdout.splitlines() if "Z" not in line.split()[0]]
