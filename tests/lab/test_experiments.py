"""The papers' experiments: expectations hold, and each fails under its mutation.

In the quick profile and with one seed. Of an experiment's mutations the first is tried
each time, the others in `make soak`, and so are some experiments as a whole. An expectation of the
paper profile alone must have a sibling here: same metric or same mutation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from _pytest.mark import ParameterSet

from penstock.lab.experiment_files import catalogue
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from tests.quick_profiles import QuickRuns, needed, quick

CATALOGUE = catalogue()
# These take a minute and a half together. Of their kind are tried each time: G-F2 (a collapse),
# G-E1 (both control loops), G-X1 (LIVE), P-F2 (casts) and P-loss (casts where much is lost).
SOAKED = ("G-F4", "G-E1-500", "G-E2", "G-E3", "G-E4", "G-X2", "G-X3", "P-F2-graph", "P-hold")


def each(ids: Iterable[str]) -> list[ParameterSet]:
    """All of them, some in `make soak` alone."""
    return [pytest.param(id_, marks=[pytest.mark.soak] if id_ in SOAKED else []) for id_ in ids]


def mutations() -> Iterator[ParameterSet]:
    """Each change once, as JSON: several expectations may share it."""
    for id_, source in CATALOGUE.items():
        changes = dict.fromkeys(json.dumps(e.fails_with) for e in quick(source.experiment))
        for place, change in enumerate(changes):
            is_soaked = place > 0 or id_ in SOAKED
            yield pytest.param(id_, change, marks=[pytest.mark.soak] if is_soaked else [])


@pytest.mark.parametrize("id_", each(CATALOGUE))
def test_what_is_expected_is_seen(id_: str, quick_run: QuickRuns) -> None:
    result = quick_run(id_).result
    assert [verdict for verdict in result.expect if not verdict.ok] == []
    assert len(result.expect) == len(quick(CATALOGUE[id_].experiment)) > 0


@pytest.mark.parametrize(("id_", "change"), list(mutations()))
def test_it_is_not_seen_under_its_mutation(id_: str, change: str) -> None:
    source = CATALOGUE[id_]
    mutated = [e for e in quick(source.experiment) if json.dumps(e.fails_with) == change]
    result = run_experiment(
        source,
        ExperimentPlan(
            processes=1,
            mutation=(mutated[0].mutation, json.loads(change)),
            variants=needed(source.experiment, mutated),
        ),
    )
    verdicts = {(v.metric, v.variant, v.ratio_to): v for v in result.expect}
    still_met = [e.metric for e in mutated if verdicts[e.metric, e.variant, e.ratio_to].ok]
    assert still_met == [], mutated[0].mutation


@pytest.mark.parametrize("id_", CATALOGUE)
def test_what_only_the_paper_profile_expects_has_a_quick_sibling(id_: str) -> None:
    siblings = quick(CATALOGUE[id_].experiment)
    for expectation in CATALOGUE[id_].experiment.expect:
        if "quick" not in expectation.profiles:
            assert any(
                sibling.fails_with == expectation.fails_with or sibling.metric == expectation.metric
                for sibling in siblings
            ), expectation.metric


RECOVERING = [
    id_ for id_, s in CATALOGUE.items() if "stream_recovery" in s.experiment.measure.metrics
]


@pytest.mark.parametrize("id_", each(RECOVERING))
def test_no_recovery_is_shorter_than_its_bound(id_: str, quick_run: QuickRuns) -> None:
    for variant in quick_run(id_).result.variants.values():
        for name, ratio in variant.items():
            if name.startswith("recovery_over_bound."):
                assert ratio.mean >= 1, name
