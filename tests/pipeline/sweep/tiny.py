"""The small experiment with variants, and what tests of sweeps ask for again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.lab.experiment_files import ExperimentFile, find_experiment
from penstock.pipeline.sweep.grid import Axis, parse_axis, points_of
from penstock.pipeline.sweep.plan import PointPlan, plan_points
from tests.experiment_files import TINY

# Two variants of it.
TINY_VARIED = (
    TINY
    + """\
[variants.off]
[variants.busy]
clients.talker.publish.rate = { rate = 20 }
"""
)


def write_tiny(directory: Path) -> Path:
    path = directory / "tiny.toml"
    path.write_text(TINY_VARIED)
    return path


def planned(
    directory: Path,
    *vary: str,
    seeds: Sequence[int] = (1, 2),
    keep: bool = False,
    resume: bool = False,
) -> tuple[ExperimentFile, list[Axis], list[PointPlan]]:
    """A sweep of the experiment into `directory / "out"`."""
    source = find_experiment(str(write_tiny(directory)))
    axes = [parse_axis(text) for text in vary]
    out = directory / "out"
    plans = plan_points(source, points_of(axes), out=out, seeds=seeds, keep=keep, resume=resume)
    return source, axes, plans


def begun_in(out: Path) -> dict[str, int]:
    """The runs that are going on, and the processes they are in."""
    found = {}
    for path in (out / "runs").glob(".*.begun"):
        try:
            if lines := path.read_text().splitlines():
                found[path.name.removeprefix(".").removesuffix(".begun")] = int(lines[-1])
        except FileNotFoundError:  # it has just ended
            continue
    return found


def parent_of(process: int) -> int:
    """The process that started it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def name_of(process: int) -> str:
    """What it runs: java, python."""
    return Path(f"/proc/{process}/comm").read_text().strip()


def java_above(process: int) -> int:
    """The Java that a Python worker belongs to."""
    while name_of(process) != "java":
        process = parent_of(process)
    return process


def wait_for(condition: Callable[[], bool], within_s: float = 300) -> None:
    """Other processes cannot be waited for but by looking."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
