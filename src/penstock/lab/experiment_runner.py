"""Runs an experiment: every variant with every seed, and the expectations judged on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.lab.expectations import check_expectation, check_goal, judge_expectation
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.process_pool import ProgressCallback, run_all
from penstock.lab.result import Result, combined_hash, estimates, means
from penstock.lab.result_names import (
    only_orderings,
    orderings_by_variant,
    result_names,
    result_names_of,
    with_only_orderings,
)
from penstock.lab.single_run import (
    Job,
    Outcome,
    check_buildable,
    check_metrics,
    check_writable,
    experiment_metrics,
    parameters,
)
from penstock.lab.toml_document import Tree


@dataclass(frozen=True, kw_only=True)
class ExperimentPlan:
    """The caller's choices for one experiment."""

    profile: str = "quick"
    # None: seeds 1 to the number that the file gives.
    seeds: Sequence[int] | None = None
    overrides: Sequence[str] = ()
    # Metrics beside those of the file.
    metrics: Sequence[str] = ()
    processes: int | None = None
    # Directory of the traces, None for no traces.
    keep: Path | None = None
    # Directory of the finished runs; with `resume`, runs found in it are not repeated.
    runs: Path | None = None
    resume: bool = False
    # For tests of expectations: a change that must make one fail.
    mutation: tuple[str, Tree] | None = None
    # None for all; with orderings, by result name (such as `off.CST-30`).
    variants: Sequence[str] | None = None


def plan_jobs(experiment_file: ExperimentFile, plan: ExperimentPlan) -> list[Job]:
    """Lists every run of the plan, and checks all of them before the first starts."""
    jobs = []
    names = plan.variants or result_names(experiment_file.experiment)
    for variant, orderings in orderings_by_variant(experiment_file.experiment, names).items():
        experiment, document = experiment_file.resolve(
            plan.profile, variant, plan.overrides, plan.mutation, plan.metrics
        )
        concerned = {*result_names_of(experiment, [variant])}
        if plan.variants:
            experiment = with_only_orderings(experiment, orderings)
        check_metrics(experiment, document)
        metrics = experiment_metrics(experiment, document)
        for index, expectation in enumerate(experiment.expect):
            check_goal(index, expectation, document)
            # Another profile or variant may have other metrics and phases.
            is_concerned = {expectation.variant, expectation.ratio_to} & concerned
            if is_concerned and plan.profile in expectation.profiles:
                check_expectation(index, expectation, experiment, metrics, document)
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
    for directory in (plan.keep, plan.runs):
        if directory is not None:
            check_writable(directory)
    return jobs


def run_experiment(
    experiment_file: ExperimentFile,
    plan: ExperimentPlan,
    progress: ProgressCallback = lambda _times: None,
    jobs: list[Job] | None = None,
) -> Result:
    """Runs the plan; pass the `jobs` of `plan_jobs` if they were computed already."""
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
            judge_expectation(expectation, by_name, only_orderings(experiment))
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
