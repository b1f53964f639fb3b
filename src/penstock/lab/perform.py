"""A whole experiment: every variant with every seed, judged and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.lab.document import Tree
from penstock.lab.expect import check_expectation, judge
from penstock.lab.load import Source
from penstock.lab.pool import Board, run_all
from penstock.lab.result import Result, combined_hash, estimates, mean_series
from penstock.lab.run import Job, Outcome, check_needs, check_place, parameters, rehearse


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the caller chose."""

    profile: str = "quick"
    # Exactly these, or as many as the file says, from 1.
    seeds: Sequence[int] | None = None
    sets: Sequence[str] = ()
    processes: int | None = None
    # Where traces go, if anywhere; and where finished runs are kept, to be taken if `resume`.
    keep: Path | None = None
    runs: Path | None = None
    resume: bool = False
    # Only for tests of expectations: a change that should make one fail.
    mutation: tuple[str, Tree] | None = None
    # All of them if left out.
    variants: Sequence[str] | None = None


def jobs_of(source: Source, plan: Plan) -> list[Job]:
    """Every run of the plan, checked before the first begins."""
    jobs = []
    for variant in plan.variants or source.experiment.variants:
        experiment, document = source.resolve(plan.profile, variant, plan.sets, plan.mutation)
        check_needs(experiment, document)
        for number, expectation in enumerate(experiment.expect):
            check_expectation(number, expectation, document)
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
        rehearse(job)
    for place in (plan.keep, plan.runs):
        if place is not None:
            check_place(place)
    return jobs


def perform(
    source: Source,
    plan: Plan,
    progress: Board = lambda _times: None,
    jobs: list[Job] | None = None,
) -> Result:
    """Runs the plan; `jobs` are those of `jobs_of`, when they are known already."""
    jobs = jobs_of(source, plan) if jobs is None else jobs
    outcomes = run_all(jobs, processes=plan.processes, progress=progress)
    return _result(source, plan, jobs, outcomes)


def _result(source: Source, plan: Plan, jobs: list[Job], outcomes: list[Outcome]) -> Result:
    variants = dict.fromkeys(job.variant for job in jobs)
    by_variant = {v: [o for o in outcomes if o.variant == v] for v in variants}
    experiment = jobs[0].experiment
    return Result(
        id=experiment.id,
        profile=plan.profile,
        seeds=list(dict.fromkeys(job.seed for job in jobs)),
        trace_hash=combined_hash(outcomes),
        variants={variant: estimates(found) for variant, found in by_variant.items()},
        expect=[
            judge(expectation, by_variant)
            for expectation in source.experiment.expect
            if plan.profile in expectation.profiles
            and by_variant.keys() >= {expectation.variant, expectation.ratio_to} - {None}
        ],
        parameters={job.variant: parameters(job.experiment) for job in jobs},
        trace_hashes={f"{o.variant}.{o.seed}": o.trace_hash for o in outcomes},
        figures={
            f"{o.variant}.{o.seed}": {name: value for name, (value, _) in o.figures.items()}
            for o in outcomes
        },
        series={variant: mean_series(found) for variant, found in by_variant.items()},
        wall_s=sum(outcome.wall_s for outcome in outcomes),
    )
