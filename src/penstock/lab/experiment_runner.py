"""A whole experiment: every variant with every seed, judged and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.lab.expectations import check_expectation, judge_expectation
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.process_pool import ProgressCallback, run_all
from penstock.lab.result import Result, combined_hash, estimates, means
from penstock.lab.result_names import orderings_by_variant, result_names, with_only_orderings
from penstock.lab.single_run import (
    Job,
    Outcome,
    check_buildable,
    check_metrics,
    check_writable,
    parameters,
)
from penstock.lab.toml_document import Tree


@dataclass(frozen=True, kw_only=True)
class ExperimentPlan:
    """What the caller chose."""

    profile: str = "quick"
    # Exactly these, or as many as the file says, from 1.
    seeds: Sequence[int] | None = None
    overrides: Sequence[str] = ()
    processes: int | None = None
    # Where traces go, if anywhere; and where finished runs are kept, to be taken if `resume`.
    keep: Path | None = None
    runs: Path | None = None
    resume: bool = False
    # Only for tests of expectations: a change that should make one fail.
    mutation: tuple[str, Tree] | None = None
    # All of them if left out; with orderings, by the names that their results have.
    variants: Sequence[str] | None = None


def plan_jobs(experiment_file: ExperimentFile, plan: ExperimentPlan) -> list[Job]:
    """Every run of the plan, checked before the first begins."""
    jobs = []
    names = plan.variants or result_names(experiment_file.experiment)
    for variant, orderings in orderings_by_variant(experiment_file.experiment, names).items():
        experiment, document = experiment_file.resolve(
            plan.profile, variant, plan.overrides, plan.mutation
        )
        if plan.variants:
            experiment = with_only_orderings(experiment, orderings)
        check_metrics(experiment, document)
        for index, expectation in enumerate(experiment.expect):
            check_expectation(index, expectation, document)
        seeds = plan.seeds or range(1, experiment.seeds + 1)
        jobs += [
            Job(
                experiment=experiment,
                document=document,
                profile=plan.profile,
                variant=variant,
                seed=seed,
                keep=plan.keep,
                runs=plan.runs,
                resume=plan.resume,
            )
            for seed in seeds
        ]
    for job in {job.variant: job for job in jobs}.values():
        check_buildable(job)
    for place in (plan.keep, plan.runs):
        if place is not None:
            check_writable(place)
    return jobs


def run_experiment(
    experiment_file: ExperimentFile,
    plan: ExperimentPlan,
    progress: ProgressCallback = lambda _times: None,
    jobs: list[Job] | None = None,
) -> Result:
    """Runs the plan; `jobs` are those of `jobs_of`, when they are known already."""
    jobs = plan_jobs(experiment_file, plan) if jobs is None else jobs
    outcomes = run_all(jobs, processes=plan.processes, progress=progress)
    return _result(experiment_file, plan, jobs, outcomes)


def _result(
    experiment_file: ExperimentFile, plan: ExperimentPlan, jobs: list[Job], outcomes: list[Outcome]
) -> Result:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.found)
    by_name = {name: [o.found[name] for o in outcomes if name in o.found] for name in names}
    experiment = jobs[0].experiment
    return Result(
        id=experiment.id,
        profile=plan.profile,
        seeds=list(dict.fromkeys(job.seed for job in jobs)),
        trace_hash=combined_hash(outcomes),
        variants={name: estimates(found) for name, found in by_name.items()},
        expect=[
            judge_expectation(expectation, by_name)
            for expectation in experiment_file.experiment.expect
            if plan.profile in expectation.profiles
            and by_name.keys() >= {expectation.variant, expectation.ratio_to} - {None}
        ],
        parameters={job.variant: parameters(job.experiment) for job in jobs},
        trace_hashes={f"{o.variant}.{o.seed}": o.trace_hash for o in outcomes},
        figures={
            f"{name}.{o.seed}": {metric: value for metric, (value, _) in found.figures.items()}
            for o in outcomes
            for name, found in o.found.items()
        },
        series={name: means([s.series for s in found]) for name, found in by_name.items()},
        quantiles={
            name: means([s.quantiles for s in found])
            for name, found in by_name.items()
            if found[0].quantiles
        },
        sketches={name: found[0].sketches for name, found in by_name.items() if found[0].sketches},
        wall_s=sum(outcome.wall_s for outcome in outcomes),
    )
