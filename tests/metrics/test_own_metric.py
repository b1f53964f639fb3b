"""What docs/guide/own-metric.md shows is so."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.lab.experiment_files import find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.metrics.base import AdditiveMetric
from penstock.metrics.catalogue import find_metric
from penstock.trace.records import Run
from penstock.tracefile.measure import Part, measure, merge_parts, tally_part
from penstock.tracefile.retention import Recording

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "guide" / "own-metric.md").read_text(encoding="utf-8")
LAB = (DOCS / "lab.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


(FILE,) = blocks(GUIDE, "python")
TESTS, METHODS = blocks(GUIDE, "py")
(EXPERIMENT,) = blocks(GUIDE, "toml")
# The file as the guide says to change it.
IN_PARTS = (
    FILE[: FILE.index("    def finish")].replace("Metric[Batch]", "AdditiveMetric[Batch]")
    # The formatter puts them at the margin.
    + indent(METHODS, "    ")
).replace(
    "import Entity, Metric, Output",
    "import AdditiveMetric, Entity, Output\nfrom penstock.metrics.tally import Tally",
)


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    yield
    for name in ("mine", "mine.bursts"):
        sys.modules.pop(name, None)


@pytest.fixture(params=[FILE, IN_PARTS], ids=["whole", "in parts"])
def tests(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The module of the guide's tests, with `mine.bursts` on the path."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bursts.py").write_text(request.param)
    monkeypatch.syspath_prepend(tmp_path)
    module: dict[str, Any] = {}
    exec(TESTS, module)
    return module


def test_the_tests_of_the_example_pass(tests: dict[str, Any]) -> None:
    found = [thing for name, thing in tests.items() if name.startswith("test_")]
    assert len(found) == 3
    for test in found:
        test()


def test_parts_of_a_trace_find_the_same_as_the_whole(tests: dict[str, Any], tmp_path: Path) -> None:
    metric = tests["Bursts"]
    run = Run(
        experiment="mine",
        profile="quick",
        variant="off",
        seed=1,
        parameters="{}",
        duration_ns=10 * SECOND,
        code_version="0",
    )
    with Recording("mine.1", keep=tmp_path / "traces") as recording:
        for row in tests["sent_at"]("p1", 0.1, 1.1, 1.5, 2.0):
            recording.add(row)
        recording.finish(run)
    place = (tmp_path / "traces", "mine.1", [metric])
    whole = measure(*place).values
    assert list(whole.values()) == [2]
    if issubclass(metric, AdditiveMetric):
        parts = [tally_part(*place, Part(number, 2)) for number in range(2)]
        assert merge_parts(*place, parts).values == whole


def test_the_error_is_the_one_shown_and_goes_away_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = re.findall(r"^penstock: (cannot import .*)$", GUIDE, re.MULTILINE)
    with pytest.raises(UsageError, match=re.escape(shown)):
        find_metric("mine.bursts:Bursts")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bursts.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    assert find_metric("mine.bursts:Bursts") is import_module("mine.bursts").Bursts


def test_an_experiment_names_it_as_shown(tests: dict[str, Any], tmp_path: Path) -> None:
    del tests
    measured, expected = EXPERIMENT.split("\n\n")
    text, changed = re.subn(
        r"^metrics = .*$", measured.splitlines()[1], blocks(LAB, "toml")[0], flags=re.MULTILINE
    )
    assert changed == 1
    (tmp_path / "mine.toml").write_text(f"{text}\n{expected}")
    jobs = plan_jobs(find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan())
    assert {job.experiment.expect[1].metric for job in jobs} == {"burst.writers-1"}
    (tmp_path / "mine.toml").write_text(f"{text}\n{expected.replace('burst.', 'bursts.')}")
    with pytest.raises(UsageError, match="did you mean 'burst'"):
        plan_jobs(find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan())
