"""Which expectations are checked before a run, and which names can never be measured."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.expectations import check_expectation
from penstock.lab.experiment_files import catalogue
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.lab.metrics import LAB_METRICS
from penstock.lab.output_names import find_output
from penstock.lab.single_run import check_metrics, experiment_metrics
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.results import Results
from penstock.trace.batch import Batch
from tests.experiment_files import TINY, load

PHASES = ("early", "late")


class Named(Metric[Batch]):
    """Names with and without a dot, of the run, of links, groups and pairs."""

    READS: ClassVar = {}
    OUTPUTS: ClassVar = (
        Output(name="a", unit="s", phased=True, meaning=""),
        Output(name="a.b", unit="1", meaning=""),
        Output(name="use", unit="1", entity=Entity.LINK, meaning=""),
        Output(name="speed", unit="1", entity=Entity.GROUP, phased=True, meaning=""),
        Output(name="lag", unit="s", entity=Entity.PAIR, meaning=""),
        Output(name="both", unit="s", meaning=""),
        Output(name="both", unit="s", entity=Entity.PAIR, meaning=""),
    )

    def update(self, batch: Batch) -> None: ...

    def finish(self, out: Results) -> None: ...


def found(flat: str, *names: str) -> Output:
    return find_output(flat, {"named": Named}, PHASES, names)


@pytest.mark.parametrize(
    ("flat", "name"),
    [
        ("a", "a"),
        ("a.late", "a"),
        ("a.b", "a.b"),
        ("use.B1-B2", "use"),
        ("use.B1-B2.late", "use"),
        ("speed.C", "speed"),
        ("speed.C.late", "speed"),
        ("both", "both"),
    ],
)
def test_a_name_is_found_by_the_longest_output(flat: str, name: str) -> None:
    assert found(flat).name == name


@pytest.mark.parametrize(
    ("flat", "says"),
    [
        ("a.", "'a.' ends with a dot: leave it out"),
        ("speed.C.", "ends with a dot"),
        ("a.never", "a has no 'never': write one of a.early, a.late, or it alone"),
        ("a.b.late", "a.b has no 'late': write a.b alone"),
        ("use", "use is of a link: write use.NAME"),
        ("speed.C.never", "speed.C has no 'never': write one of speed.C.early, speed.C.late, or"),
        ("lag", "lag is of a pair, and values of two names are not in results"),
        ("lag.s.p", "lag is of a pair, and values of two names are not in results"),
        ("both.s", "both is of a pair, and values of two names are not in results"),
    ],
)
def test_a_name_that_is_never_measured_is_refused(flat: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        found(flat)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_of_the_file_may_have_dots() -> None:
    assert found("speed.C.never", "C.never").name == "speed"


def test_metrics_of_the_lab_are_known_to_the_hint() -> None:
    output = find_metrics(["adaptivity"], known=LAB_METRICS)["adaptivity"].OUTPUTS[0]
    with pytest.raises(UsageError, match="is reported by 'adaptivity': add it"):
        found(f"{output.name}.x" if output.entity is not Entity.RUN else output.name)


EXPECTING = """
[variants.off]
[variants.more]
measure.metrics = ["received", "fairness"]
[[expect]]
metric = "{metric}"
variant = "{variant}"
profiles = ["{profile}"]
op = ">="
value = 0
mutation = "none"
fails_with = {{}}
"""


def test_expectations_of_other_profiles_and_variants_are_not_checked(tmp_path: Path) -> None:
    def plan(metric: str, variant: str, profile: str, *chosen: str) -> None:
        text = EXPECTING.format(metric=metric, variant=variant, profile=profile)
        source = load(tmp_path, TINY + text)
        assert plan_jobs(source, ExperimentPlan(variants=chosen or None))

    plan("jain", "more", "quick")
    plan("jain", "off", "paper")
    plan("jain", "off", "quick", "more")
    with pytest.raises(UsageError, match=r"jain is reported by 'fairness': add it"):
        plan("jain", "off", "quick")


def test_a_phase_has_a_name(tmp_path: Path) -> None:
    text = TINY.replace("[measure]", '[measure]\nphases = { "" = [0, 1] }')
    with pytest.raises(UsageError, match=r"t\.toml:20: a phase has no name"):
        plan_jobs(load(tmp_path, text), ExperimentPlan())


@pytest.mark.parametrize("id_", catalogue())
def test_the_paper_profile_measures_what_it_expects(id_: str) -> None:
    source = catalogue()[id_]
    for variant in source.experiment.variants:
        experiment, document = source.resolve("paper", variant)
        check_metrics(experiment, document)
        metrics = experiment_metrics(experiment, document)
        for index, expectation in enumerate(experiment.expect):
            if "paper" in expectation.profiles and expectation.variant == variant:
                check_expectation(index, expectation, experiment, metrics, document)
