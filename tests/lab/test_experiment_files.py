"""Bad experiment files: the file, the line, what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from penstock.lab.builders.network import build_scenario
from penstock.lab.experiment_files import ExperimentFile, catalogue, find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.tracefile.retention import Recording
from tests.experiment_files import TINY, load


def stage(source: ExperimentFile, profile: str = "quick", *sets: str) -> None:
    """Everything up to the first simulated instant."""
    (job,) = plan_jobs(source, ExperimentPlan(profile=profile, overrides=sets))
    with Recording("t", keep=None) as recording:
        build_scenario(job.experiment, job.document, Seeds(1), recording)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    stage(load(tmp_path, TINY))


@pytest.mark.parametrize(
    ("old", "new", "line", "advice"),
    [
        ("delay_ms = 5", "dealy_ms = 5", 8, "did you mean delay_ms"),
        ("hot = 10", "hots = 10", 10, "markets.all.hots is no key: did you mean hot"),
        ("rate_mbps = 10", "rate_mbps = -10", 8, "network.link.rate_mbps = -10: write"),
        ("rate = 10 }", "rate = -10 }", 15, "publish.rate.rate = -10: write a number >= 0"),
        ("[run]\nduration_s = 2", "[run]\nduration_s = 'x'", 5, "run.duration_s = 'x': write"),
        ("duration_s = 2\n", "", 4, "run.duration_s is missing"),
        ("size = 3", "size = 0", 7, "network.topology.size = 0: write"),
        ('"line", size = 3', '"tree", size = 3, diameter = 7', 7, "no tree of 3 nodes"),
        ('"line", size = 3', '"tree", size = 3', 7, "a tree needs a diameter"),
        ('"line", size = 3', '"ring", size = 3', 7, "shape = 'ring': choose from line"),
        ("delay_ms = 5", "delay_ms = 5, jitter_ms = 9", 8, "back in time"),
        ('market = "all"', 'market = "al"', 13, "there is no market 'al'"),
        ("hot_share = 1", "hot_share = 0.5", 9, "no cold topics"),
        ('"received", "source_fates"', '"speed"', 20, "there is no metric 'speed'"),
        ('"received", "source_fates"', '"pair_delays"', 19, "two groups of clients"),
        ('"constant", rate = 10', '"wobbly", rate = 10', 15, "wobbly"),
        ("count = 2", 'count = 2\nat = ["B9"]', 18, "no broker 'B9': choose from B1, B2, B3"),
        ("[measure]", "[measure]\nphases = { a = [1, 9] }", 20, "by the end of the run"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, old: str, new: str, line: int, advice: str
) -> None:
    assert old in TINY
    with pytest.raises(UsageError) as failure:
        stage(load(tmp_path, TINY.replace(old, new)))
    assert str(failure.value).startswith(f"{tmp_path}/t.toml:{line}: ")
    assert advice in str(failure.value)


def test_a_mistake_in_a_profile_is_found_there(tmp_path: Path) -> None:
    source = load(tmp_path, TINY.replace("run.duration_s = 20", "run.duration_s = -20"))
    stage(source)
    with pytest.raises(UsageError, match=r"t\.toml:23: run\.duration_s = -20"):
        stage(source, "paper")


def test_a_mistake_in_a_set_is_found_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--set run\.duraton_s=4: .* did you mean duration_s"):
        stage(load(tmp_path, TINY), "quick", "run.duraton_s=4")
    with pytest.raises(UsageError, match=r"^--set network\.link\.loss=2: network\.link\.loss = 2"):
        stage(load(tmp_path, TINY), "quick", "network.link.loss=2")


def test_profiles_and_experiments_that_are_not_there_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no profile 'slow': choose from quick, paper"):
        stage(load(tmp_path, TINY), "slow")
    with pytest.raises(UsageError, match=r"no experiment 'M-3\.11x': did you mean"):
        find_experiment("M-3.11x")
    with pytest.raises(UsageError, match="cannot read"):
        find_experiment(str(tmp_path / "nothing.toml"))


def test_an_expectation_of_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    text = TINY + (
        '[[expect]]\nmetric = "deliveries"\nvariant = "on"\nop = ">="\nvalue = 1\n'
        'mutation = "x"\nfails_with = {}\n'
    )
    with pytest.raises(UsageError, match=r"t\.toml:24: there is no variant 'on'"):
        stage(load(tmp_path, text))
    pair = text.replace('"on"', '"off"').replace("value = 1", "value = [1, 2]")
    with pytest.raises(UsageError, match=r"t\.toml:24: .*between"):
        stage(load(tmp_path, pair))


def test_every_experiment_has_its_own_ids_and_both_profiles() -> None:
    seen: list[str] = []
    for source in catalogue().values():
        experiment = source.experiment
        seen += [experiment.id, *experiment.ids]
        assert {"quick", "paper"} <= set(experiment.profiles)
        assert experiment.calibrated, f"{experiment.id} says nothing of its open parameters"
    assert len(seen) == len(set(seen))
    assert {"M-3.1", "M-3.4", "M-3.5", "M-3.8", "M-3.9", "M-3.10", "M-4.3", "M-4.4"} <= set(seen)


def test_a_group_may_say_what_it_wants(tmp_path: Path) -> None:
    wants = "filter = 'topic = \"all.0\"'"
    text = TINY.replace("subscribe = { all = 0.5 }", wants)
    result = run_experiment(
        load(tmp_path, text), ExperimentPlan(processes=1, overrides=["run.duration_s=20"])
    )
    # Of ten topics, of which the first is a little more than a tenth.
    assert 0.2 < result.variants["off"]["receivers_per_message"].mean < 0.4
    with pytest.raises(UsageError, match=r"t\.toml:1\d: .*topic"):
        stage(load(tmp_path, text.replace("topic =", "topic")))
