"""What a task does with a run: once, again after a death, and never for ever. Without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from penstock.kernel.errors import UsageError
from penstock.pipeline.sweep.plan import SweepJob, is_done
from penstock.pipeline.sweep.task import run_unless_done
from tests.pipeline.sweep.tiny import planned

DONE = (None, None)


@pytest.fixture
def job(tmp_path: Path) -> SweepJob:
    _, _, (plan,) = planned(tmp_path, "network.link.delay_ms=7", seeds=[1])
    return plan.jobs[0]


def begun(job: SweepJob) -> Path:
    return job.cached_path.with_name(f".{job.run_id}.begun")


def died(job: SweepJob, times: int) -> None:
    begun(job).parent.mkdir(exist_ok=True)
    begun(job).write_text("1\n" * times)


def test_a_run_is_named_after_its_point(job: SweepJob) -> None:
    assert job.run_id == f"T-1.quick.off.1+{job.mark}"


def test_a_run_is_run_and_kept(job: SweepJob) -> None:
    assert not is_done(job)
    assert run_unless_done(job, attempt=0, attempts=4) == DONE
    assert is_done(job)
    assert [path.name for path in job.cached_path.parent.iterdir()] == [job.cached_path.name]


def test_a_run_that_is_done_is_not_repeated_when_the_task_is(job: SweepJob) -> None:
    run_unless_done(job, attempt=0, attempts=4)
    before = job.cached_path.stat().st_mtime_ns
    assert run_unless_done(job, attempt=1, attempts=4) == DONE
    assert run_unless_done(msgspec.structs.replace(job, resume=True), attempt=0, attempts=4) == DONE
    assert job.cached_path.stat().st_mtime_ns == before
    assert run_unless_done(job, attempt=0, attempts=4) == DONE
    assert job.cached_path.stat().st_mtime_ns > before


def test_what_another_program_left_is_not_taken_for_done(job: SweepJob) -> None:
    run_unless_done(job, attempt=0, attempts=4)
    kept = json.loads(job.cached_path.read_text())
    job.cached_path.write_text(json.dumps({**kept, "fingerprint": "another"}))
    assert not is_done(job)
    job.cached_path.write_text("{")
    assert not is_done(job)


def test_a_run_whose_trace_is_gone_is_not_done_if_traces_are_wanted(tmp_path: Path) -> None:
    _, _, (plan,) = planned(tmp_path, seeds=[1], keep=True)
    job = plan.jobs[0]
    run_unless_done(job, attempt=0, attempts=4)
    assert is_done(job)
    (tmp_path / "out" / "traces" / f"run={job.run_id}").rename(tmp_path / "elsewhere")
    assert not is_done(job)
    assert is_done(msgspec.structs.replace(job, keep=None))


def test_an_error_is_told_with_the_place_where_it_happened(job: SweepJob) -> None:
    job.cached_path.mkdir(parents=True)
    error, where = run_unless_done(job, attempt=0, attempts=4)
    assert error is not None
    assert error.startswith("IsADirectoryError")
    assert where is not None
    assert "write_atomically" in where
    assert not begun(job).exists()


def test_what_the_caller_did_wrong_needs_no_place(
    job: SweepJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UsageError("no such thing")

    monkeypatch.setattr("penstock.pipeline.sweep.task.run_or_load", refuse)
    assert run_unless_done(job, attempt=0, attempts=4) == ("no such thing", None)


def test_a_run_that_was_killed_is_run_again(job: SweepJob) -> None:
    died(job, times=1)
    assert run_unless_done(job, attempt=1, attempts=4) == DONE


@pytest.mark.parametrize(
    ("deaths", "attempt", "said"),
    [(2, 2, "2 times"), (1, 3, "once")],
    ids=["it killed two processes", "this is the last attempt"],
)
def test_a_run_that_would_take_the_sweep_with_it_is_given_up(
    job: SweepJob, deaths: int, attempt: int, said: str
) -> None:
    died(job, deaths)
    error, _ = run_unless_done(job, attempt=attempt, attempts=4)
    assert error == f"its process was killed {said}: is there enough memory?"
    assert not is_done(job)


def test_deaths_of_an_earlier_sweep_do_not_count(job: SweepJob) -> None:
    died(job, times=3)
    assert run_unless_done(job, attempt=0, attempts=4) == DONE
