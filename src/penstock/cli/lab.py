"""`penstock lab`: lists, runs, judges and compares experiments."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json, print_rows
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.lab.experiment import Experiment
    from penstock.lab.single_run import Job

app = new_app(
    """The papers' experiments: run, judged against expectations, compared.

    \b
    Example:
      penstock lab run M-3.1 --check
    """
)

_SEEDS_MAX: Final = 10_000


@app.command("list")
def list_(
    only_ids: Annotated[bool, typer.Option("--ids", help="One id a line, for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """What experiments there are.

    \b
    Example:
      penstock lab list
    """
    from penstock.lab.experiment_files import catalogue

    experiments = [source.experiment for source in catalogue().values()]
    if only_ids:
        typer.echo("\n".join(e.id for e in experiments))
        return
    if as_json:
        print_json(
            {
                "experiments": [
                    {
                        "id": e.id,
                        "ids": [e.id, *e.ids],
                        "title": e.title,
                        "source": e.source,
                        "profiles": list(e.profiles),
                        "variants": list(e.variants),
                        "orderings": list(e.orderings),
                    }
                    for e in experiments
                ]
            }
        )
        return
    rows = [
        (", ".join([e.id, *e.ids]), e.title, ", ".join(_compared(e)), e.source) for e in experiments
    ]
    print_rows(("id", "what it shows", "compared", "source"), rows)


def _compared(experiment: Experiment) -> list[str]:
    """The orderings if there is one variant, otherwise the variants."""
    if len(experiment.variants) == 1 and experiment.orderings:
        return list(experiment.orderings)
    return list(experiment.variants)


@app.command()
def run(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An id of 'lab list', or the path of a TOML file.")
    ],
    profile: Annotated[
        str, typer.Option(help="quick, or paper for the published scale.")
    ] = "quick",
    seeds: Annotated[
        int | None, typer.Option(help="How many, from 1; as many as the file says if left out.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Replays this one alone.")] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Only this variant; may be given again. All of them if left out."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another value for a key of the file."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|MODULE:CLASS",
            help="Measure this too; may be given again. See docs/reference/metrics.md.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if an expectation is not met.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Write traces, not only results.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Do not repeat runs that were finished before.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where results go: out/lab/ID/PROFILE if left out.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; one per processor if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Runs an experiment with all its variants and seeds, and judges what came of it.

    \b
    Example:
      penstock lab run M-3.1 --check
      penstock lab run M-3.1 --profile paper --seeds 5 --resume
      penstock lab run M-4.3 --set network.link.loss=0.001 --keep
      penstock lab run M-5.9 --variant off --variant default --seed 1
      penstock lab run C-1 --metric delays --metric mine.bursts:Bursts
    """
    from penstock.lab.experiment_files import find_experiment
    from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
    from penstock.lab.result import write_result
    from penstock.lab.result_names import result_names_of

    experiment_file = find_experiment(name)
    directory = out or _default_directory(
        experiment_file.experiment.id,
        profile,
        seed,
        [*(variant or ()), *(set_ or ()), *(metric or ())],
    )
    plan = ExperimentPlan(
        profile=profile,
        seeds=_seeds(seeds, seed),
        overrides=set_ or [],
        metrics=metric or [],
        variants=result_names_of(experiment_file.experiment, variant) if variant else None,
        processes=processes,
        keep=directory / "traces" if keep else None,
        runs=directory / "runs",
        resume=resume,
    )
    jobs = plan_jobs(experiment_file, plan)
    with _exit_on_signal(), progress(experiment_file.experiment.id, jobs) as report_progress:
        result = run_experiment(experiment_file, plan, report_progress, jobs)
    write_result(result, directory / "result.json")
    if as_json:
        print_json(result.json_summary())
    else:
        from penstock.cli.lab_tables import show

        show(result, experiment_file.experiment.title, set_ or [])
        typer.echo(f"\n{directory / 'result.json'} (trace hash {result.trace_hash[:16]}…)")
        if keep:
            typer.echo(f"{directory / 'traces'}")
    if check and not result.ok:
        raise typer.Exit(1)


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="A result.json, or its directory.")],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """What changed between two results: parameters, then metrics.

    \b
    Example:
      penstock lab run M-4.3 --out out/a
      penstock lab run M-4.3 --out out/b --set network.link.loss=0.001
      penstock lab diff out/a out/b
    """
    import msgspec

    from penstock.lab.result import changed_parameters, compare, read_result

    old, new = read_result(before), read_result(after)
    if old.id != new.id:
        raise UsageError(f"{before} is of {old.id} and {after} of {new.id}: compare like with like")
    changes, parameters = compare(old, new), changed_parameters(old, new)
    if as_json:
        tree: Any = msgspec.to_builtins(changes)
        for row, change in zip(tree, changes, strict=True):
            row |= {"relative": change.relative, "clear": change.is_significant}
        same = old.trace_hash == new.trace_hash
        print_json({"same_traces": same, "parameters": parameters, "metrics": tree})
        return
    if old.seeds != new.seeds:
        typer.echo(f"seeds: {old.seeds} -> {new.seeds}")
    if old.trace_hash == new.trace_hash:
        typer.echo(f"the same traces: {old.trace_hash[:16]}…")
    for line in parameters:
        typer.echo(line)
    from penstock.cli.lab_tables import change_row, differs

    rows = [change_row(change) for change in changes if differs(change)]
    if rows:
        print_rows(("variant", "metric", "before", "after", "change", "is it clear?"), rows)
    else:
        typer.echo("no metric differs")


def _default_directory(
    id_: str, profile: str, seed: int | None, differences: Sequence[str]
) -> Path:
    """The output directory; a single seed, variant or `--set` gets a directory of its own."""
    name = profile
    if seed is not None:
        name += f"+seed-{seed}"
    if differences:
        name += "+" + "+".join(re.sub(r"[^\w.=-]+", "_", text) for text in differences)
    return Path("out/lab") / re.sub(r"[^\w.+-]", "-", id_) / name[:120]


def _seeds(count: int | None, seed: int | None) -> list[int] | None:
    if count is not None and seed is not None:
        raise UsageError("--seeds says how many, --seed which one: write one of them")
    if count is not None and not 1 <= count <= _SEEDS_MAX:
        raise UsageError(f"--seeds must be 1 or more, up to {_SEEDS_MAX}, not {count}")
    if seed is not None and not 0 <= seed < 1 << 63:
        raise UsageError(f"a seed is 0 or more and has 63 bits, not {seed}")
    if seed is not None:
        return [seed]
    return None if count is None else list(range(1, count + 1))


@contextmanager
def _exit_on_signal() -> Iterator[None]:
    """On Ctrl-C and SIGTERM, prints one line and exits with 128 + the signal number."""
    received = signal.SIGINT

    def terminate(_number: int, _frame: Any) -> None:
        nonlocal received
        received = signal.SIGTERM
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("penstock: stopped; --resume takes up what was finished", err=True)
        raise typer.Exit(128 + received) from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress(title: str, jobs: Sequence[Job]) -> Iterator[Any]:
    """A progress bar on a terminal: simulated time, its speed, and the time remaining."""
    total_s = sum(job.length_s for job in jobs)
    if not sys.stderr.isatty():
        yield lambda _times: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} simulated s"),
        TextColumn("{task.fields[rate]:.1f}× real time"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        runs = f"{title}, {len(jobs)} run{'s' * (len(jobs) > 1)}"
        task = bar.add_task(runs, total=total_s, rate=0.0)

        def report(times: Sequence[float]) -> None:
            elapsed_s = bar.tasks[0].elapsed or 0.0
            done_s = sum(times)
            rate = done_s / elapsed_s if elapsed_s else 0.0
            bar.update(task, completed=done_s, rate=rate)

        yield report
