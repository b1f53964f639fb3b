"""A run that was killed leaves nothing that looks whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.trace.records import Expected
from penstock.tracefile.layout import (
    finished_runs,
    remove_run,
    remove_unfinished,
    run_directory,
    unfinished_directory,
    unfinished_runs,
)
from penstock.tracefile.reader import TraceReader
from penstock.tracefile.retention import Recording
from tests.tracefile.test_round_trip import RUN, record

# Dies as by `kill -9`, after rows have reached the file.
PROGRAM = """
import os, sys
from pathlib import Path
from penstock.trace.records import Expected
from penstock.tracefile import writer
from penstock.tracefile.retention import Recording
writer.ROW_GROUP_ROWS = 1
recording = Recording("a", keep=Path(sys.argv[1]))
for i in range(10_000):
    recording.add(Expected("p", 1, i, "s", 7))
os._exit(9)
"""


def crash(directory: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", PROGRAM, str(directory)], check=False)
    assert killed.returncode == 9


def test_a_killed_run_is_not_seen(tmp_path: Path) -> None:
    crash(tmp_path)
    assert unfinished_runs(tmp_path) == ["a"]
    assert (unfinished_directory(tmp_path, "a") / "expected.parquet").stat().st_size > 100
    assert TraceReader(tmp_path).run_ids() == finished_runs(tmp_path) == []
    # What Spark and others find: nothing.
    assert list(tmp_path.glob("run=*/*.parquet")) == []


def test_running_again_clears_what_was_left(tmp_path: Path) -> None:
    crash(tmp_path)
    record(tmp_path, [Expected("q", 1, 1, "s", 7)])
    assert [row.publisher for row in TraceReader(tmp_path).records(Expected, "a")] == ["q"]
    assert unfinished_runs(tmp_path) == []


def test_cleaning_deletes_unfinished_runs_only(tmp_path: Path) -> None:
    crash(tmp_path)
    record(tmp_path, [], "b")
    assert remove_unfinished(tmp_path) == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["run=b"]


def test_a_run_that_does_not_finish_leaves_nothing(tmp_path: Path) -> None:
    with Recording("a", keep=tmp_path) as recording:
        recording.add(Expected("p", 1, 1, "s", 7))
    assert list(tmp_path.iterdir()) == []


def test_a_finished_run_is_replaced_only_when_asked_and_only_once_whole(tmp_path: Path) -> None:
    record(tmp_path, [Expected("old", 1, 1, "s", 7)])
    with pytest.raises(UsageError, match="exists already"):
        Recording("a", keep=tmp_path)
    with Recording("a", keep=tmp_path, replace=True) as recording:
        recording.add(Expected("new", 1, 1, "s", 7))
        assert [r.publisher for r in TraceReader(tmp_path).records(Expected, "a")] == ["old"]
        recording.finish(RUN)
    assert [r.publisher for r in TraceReader(tmp_path).records(Expected, "a")] == ["new"]


def test_what_a_killed_removal_left_is_cleaned(tmp_path: Path) -> None:
    record(tmp_path, [])
    run_directory(tmp_path, "a").rename(tmp_path / ".run=a.removed")
    assert remove_unfinished(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write traces into .*file: File exists"):
        Recording("a", keep=tmp_path / "file")


def test_directories_of_others_are_no_runs(tmp_path: Path) -> None:
    (tmp_path / "run=7").mkdir()
    (tmp_path / "run=b").write_text("")
    record(tmp_path, [])
    assert finished_runs(tmp_path) == ["a"]


def test_a_run_can_be_removed(tmp_path: Path) -> None:
    record(tmp_path, [])
    remove_run(tmp_path, "a")
    remove_run(tmp_path, "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", ["", "7", "a/b", "../a", "a b", "a=b", ".a", "é", "a" * 121, "a\n"])
def test_a_run_has_a_plain_name(tmp_path: Path, bad: str) -> None:
    with pytest.raises(UsageError, match="a run is named by"):
        run_directory(tmp_path, bad)


def test_two_do_not_write_the_same_run_at_once(tmp_path: Path) -> None:
    with Recording("a", keep=tmp_path) as first:
        with pytest.raises(UsageError, match="another process is writing run a"):
            Recording("a", keep=tmp_path, replace=True)
        first.add(Expected("p", 1, 1, "s", 7))
        first.finish(RUN)
    assert [path.name for path in tmp_path.iterdir()] == ["run=a"]
