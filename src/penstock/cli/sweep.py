"""`penstock sweep`: runs one experiment over a grid and many seeds on Spark."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.lab.experiment import Experiment
    from penstock.metrics.statistics import Estimate
    from penstock.pipeline.sweep.grid import Axis
    from penstock.pipeline.sweep.result import SweepResult

app = new_app("One experiment over a grid and many seeds.")

_SEEDS_MAX: Final = 10_000
_RUNS_MAX: Final = 100_000
# More columns do not fit a terminal.
_METRICS_MAX: Final = 6
_FAILURES_SHOWN: Final = 10


@app.command()
def sweep(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An id of 'lab list', or the path of a TOML file.")
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=A,B,C", help="A key of the file, and its values in turn."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many, from 1; as many as the file says if left out.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="quick, or paper for the published scale.")
    ] = "quick",
    metric: Annotated[
        list[str] | None, typer.Option(help="What the table shows; may be given several times.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Where Spark runs: this machine if left out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results go: out/sweep/ID/… if left out.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Do not repeat runs that were finished before.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Write traces, not only results.")] = False,
    as_json: AsJson = False,
) -> None:
    """Runs an experiment at every point of a grid, with many seeds, on Spark's executors.

    \b
    Example:
      penstock sweep M-4.3 --vary network.link.loss=0,0.001,0.01 --seeds 20
      penstock sweep ./mine.toml --vary network.topology.size=3,5,9 --resume
      penstock sweep M-3.1 --seeds 1000 --master spark://head:7077 --out /shared/m31
    """
    from penstock.lab.experiment_files import find_experiment
    from penstock.pipeline.session import open_session
    from penstock.pipeline.sweep.grid import parse_axis, points_of
    from penstock.pipeline.sweep.plan import plan_points
    from penstock.pipeline.sweep.run import run_sweep

    experiment_file = find_experiment(name)
    axes = [parse_axis(text) for text in vary or []]
    directory = (
        out or _default_directory(experiment_file.experiment.id, profile, vary or [])
    ).absolute()
    plans = plan_points(
        experiment_file,
        points_of(axes),
        out=directory,
        profile=profile,
        seeds=_seeds(seeds),
        keep=keep,
        resume=resume,
    )
    runs = sum(len(plan.jobs) for plan in plans)
    if runs > _RUNS_MAX:
        raise UsageError(f"that is {runs:,} runs: at most {_RUNS_MAX:,} go into one sweep")
    title = f"penstock sweep {experiment_file.experiment.id}"
    # Python does the work, so Java should leave it the processors.
    session = partial(open_session, master, title, is_brief=True)
    try:
        with _progress(experiment_file.experiment.id, runs) as report_progress:
            result = run_sweep(experiment_file, axes, plans, directory, session, report_progress)
    except KeyboardInterrupt:
        typer.echo("penstock: stopped; --resume takes up what was finished", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json(result.json_summary())
    else:
        _show(result, experiment_file.experiment, axes, metric)
        typer.echo(f"\n{directory / 'sweep.json'}")
    if result.failed:
        raise typer.Exit(1)


def _default_directory(id_: str, profile: str, vary: Sequence[str]) -> Path:
    name = "+".join([profile, *(re.sub(r"[^\w.=-]+", "_", text) for text in vary)])
    return Path("out/sweep") / re.sub(r"[^\w.+-]", "-", id_) / name[:120]


def _seeds(count: int | None) -> list[int] | None:
    if count is not None and not 1 <= count <= _SEEDS_MAX:
        raise UsageError(f"--seeds must be 1 or more, up to {_SEEDS_MAX}, not {count}")
    return None if count is None else list(range(1, count + 1))


@contextmanager
def _progress(title: str, runs: int) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal: runs done, and the time remaining."""
    if not sys.stderr.isatty():
        yield lambda _runs: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} runs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=runs)
        yield lambda done: bar.update(task, completed=done)


def _show(
    result: SweepResult, experiment: Experiment, axes: Sequence[Axis], metrics: list[str] | None
) -> None:
    good = result.runs - len(result.failed)
    typer.echo(f"{result.id}: {experiment.title} ({result.profile}, {good} of {result.runs} runs)")
    measured = list(
        dict.fromkeys(
            name for p in result.points for figures in p.variants.values() for name in figures
        )
    )
    shown = _shown(measured, experiment, metrics)
    headings = (*(axis.key for axis in axes), "variant", "seeds", *shown)
    rows = [
        (*point.settings.values(), variant, str(len(point.seeds)),
         *(_estimate(figures.get(name)) for name in shown))
        for point in result.points
        for variant, figures in point.variants.items()
    ]  # fmt: skip
    typer.echo()
    if on_terminal():
        print_table(headings, rows)
    else:
        for row in (headings, *rows):
            typer.echo("\t".join(row))
    if unknown := [name for name in shown if name not in measured]:
        typer.echo(f"(not measured: {', '.join(unknown)}; there are {', '.join(measured)})")
    if len(shown) < len(measured) and not metrics:
        typer.echo(f"({len(measured) - len(shown)} more in sweep.json; --metric NAME shows one)")
    _show_failures(result)


def _shown(measured: list[str], experiment: Experiment, requested: list[str] | None) -> list[str]:
    """The requested metrics, otherwise those with expectations, otherwise the first ones."""
    if requested:
        return requested
    expected = [e.metric for e in experiment.expect if e.metric in measured]
    return list(dict.fromkeys(expected or measured))[:_METRICS_MAX]


def _show_failures(result: SweepResult) -> None:
    for failed in result.failed[:_FAILURES_SHOWN]:
        settings = "".join(f" {key}={value}" for key, value in failed.settings.items())
        typer.echo(
            f"failed: seed {failed.seed} of {failed.variant},{settings or ' as it stands'}:"
            f" {failed.error}",
            err=True,
        )
    if len(result.failed) > _FAILURES_SHOWN:
        typer.echo(f"({len(result.failed) - _FAILURES_SHOWN} more in sweep.json)", err=True)


def _estimate(figure: Estimate | None) -> str:
    if figure is None:
        return "-"
    half = "" if figure.ci95 is None else f" ± {(figure.ci95[1] - figure.ci95[0]) / 2:.3g}"
    unit = f" {figure.unit}" if figure.unit else ""
    mean = f"{figure.mean:,.0f}" if abs(figure.mean) >= 1000 else f"{figure.mean:.4g}"
    return f"{mean}{half}{unit}"
