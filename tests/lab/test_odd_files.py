"""Files that ask for odd things: refused before anything runs, or measured right."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from tests.experiment_files import TINY, load
from tests.lab.test_experiment_files import stage

ALL_METRICS = TINY.replace(
    '["received"]', '["received", "fifo_order", "delays", "links", "workload"]'
)
RATIO = """
[variants.off]
[variants.silent]
clients.talker.publish.rate = { rate = 0 }
[[expect]]
metric = "deliveries"
op = ">="
value = 2
ratio_to = "silent"
mutation = "x"
fails_with = {}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[markets.all]", "[variants]\n[markets.all]"),
        ("count = 2", "count = 2\nat = []"),
        ("rate = 10 }", "rate = 10 }, start_s = []"),
        ("[run]\nduration_s = 2", "[run]\nduration_s = 1e12"),
        ("[run]\nduration_s = 2", "[run]\nduration_s = 1e-10"),
        ("[run]\nduration_s = 2", "[run]\nduration_s = inf"),
        ("delay_ms = 5", "delay_ms = inf"),
        ("delay_ms = 5", "delay_ms = nan"),
        ("rate_mbps = 10", "rate_mbps = 1e300"),
        ("size = 3", "size = 1000000000"),
        ("count = 2", "count = 10000000"),
        ('id = "T-1"', 'id = "../../escaped"'),
        ('id = "T-1"', 'id = "a\\u0000b"'),
        ("[clients.talker]", '[clients."a/b"]'),
        ("[measure]", "[measure]\nphases = { a = [0.5, 1.5] }"),
        ("[profiles.quick]", "[variants.off]\nseeds = 3\n[profiles.quick]"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, old: str, new: str) -> None:
    assert old in TINY
    with pytest.raises(UsageError, match=r"t\.toml"):
        stage(load(tmp_path, TINY.replace(old, new)))


def test_a_variant_that_cannot_be_built_is_refused_before_the_first_runs(tmp_path: Path) -> None:
    bad = '[variants.off]\n[variants.bad]\nnetwork.topology = { shape = "tree", diameter = 9 }\n'
    with pytest.raises(UsageError, match=r"t\.toml:\d+: there is no tree"):
        plan_jobs(load(tmp_path, TINY + bad), ExperimentPlan())


def test_a_ratio_to_nothing_is_not_measured_and_loses_nothing(tmp_path: Path) -> None:
    for seeds in ([1], [1, 2]):
        result = run_experiment(
            load(tmp_path, TINY + RATIO), ExperimentPlan(seeds=seeds, processes=1)
        )
        (verdict,) = result.expect
        assert (verdict.value, verdict.ok) == (None, False)
        assert result.variants["off"]["deliveries"].mean > 0


def test_a_figure_that_is_no_number_is_left_out(tmp_path: Path) -> None:
    text = TINY.replace(
        '["received"]', '["received", "pair_delays"]\npair = ["talker", "listeners"]'
    )
    result = run_experiment(load(tmp_path, text), ExperimentPlan(seeds=[1, 2], processes=1))
    for figures in result.figures.values():
        assert all(map(isfinite, figures.values()))


@pytest.mark.parametrize("sample_s", [0.1, 0.5])
def test_the_use_of_links_does_not_depend_on_how_often_one_looks(
    tmp_path: Path, sample_s: float
) -> None:
    text = ALL_METRICS.replace("[measure]", "[measure]\nphases = { early = [0, 2] }")
    text = text.replace("[run]\nduration_s = 2", "[run]\nduration_s = 4")
    source = load(tmp_path, text)
    usual = run_experiment(source, ExperimentPlan(seeds=[1]))
    other = run_experiment(
        source, ExperimentPlan(seeds=[1], overrides=[f"run.sample_s={sample_s}"])
    )
    for metric in ("bottleneck_use", "bottleneck_use.early"):
        expected = usual.variants["off"][metric].mean
        assert other.variants["off"][metric].mean == pytest.approx(expected, rel=0.02)


def test_clients_bear_the_names_of_their_groups(tmp_path: Path) -> None:
    (job,) = plan_jobs(load(tmp_path, TINY), ExperimentPlan())
    assert list(job.experiment.clients) == ["talker", "listeners"]
    result = run_experiment(load(tmp_path, TINY), ExperimentPlan(keep=tmp_path / "traces"))
    from penstock.trace.records import Publication
    from penstock.tracefile.reader import TraceReader

    rows = TraceReader(tmp_path / "traces").records(Publication, "T-1.quick.off.1")
    assert {row.publisher for row in rows} == {"talker-1"}
    assert result.ok
