"""`penstock lab`: the papers' experiments, run, judged and compared."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.lab.expect import Verdict
    from penstock.lab.experiment import Experiment
    from penstock.lab.result import Change, Result
    from penstock.lab.run import Job
    from penstock.lab.statistics import Estimate

app = new_app(
    """The papers' experiments: run, judged against expectations, compared.

    \b
    Example:
      penstock lab run M-3.1 --check
    """
)

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLOT_WIDTH: Final = 60
_SEEDS_MAX: Final = 10_000
_UNSURE: Final = "unsure"


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
    from penstock.lab.load import catalogue

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
    _print_rows(("id", "what it shows", "compared", "source"), rows)


def _compared(experiment: Experiment) -> list[str]:
    """What its table has side by side; with several variants, each has every ordering."""
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
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another value for a key of the file."),
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
    """
    from penstock.lab.load import find
    from penstock.lab.perform import Plan, jobs_of, perform
    from penstock.lab.result import write_result

    source = find(name)
    where = out or _default_place(source.experiment.id, profile, seed, set_ or [])
    plan = Plan(
        profile=profile,
        seeds=_seeds(seeds, seed),
        sets=set_ or [],
        processes=processes,
        keep=where / "traces" if keep else None,
        runs=where / "runs",
        resume=resume,
    )
    jobs = jobs_of(source, plan)
    try:
        with _progress(source.experiment.id, jobs) as board:
            result = perform(source, plan, board, jobs)
    except KeyboardInterrupt:
        typer.echo("penstock: stopped; --resume takes up what was finished", err=True)
        raise typer.Exit(130) from None
    write_result(result, where / "result.json")
    if as_json:
        print_json(result.for_programs())
    else:
        _show(result, source.experiment.title, set_ or [])
        typer.echo(f"\n{where / 'result.json'} (trace hash {result.trace_hash[:16]}…)")
        if keep:
            typer.echo(f"{where / 'traces'}")
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
            row |= {"relative": change.relative, "clear": change.is_clear}
        same = old.trace_hash == new.trace_hash
        print_json({"same_traces": same, "parameters": parameters, "metrics": tree})
        return
    if old.seeds != new.seeds:
        typer.echo(f"seeds: {old.seeds} -> {new.seeds}")
    if old.trace_hash == new.trace_hash:
        typer.echo(f"the same traces: {old.trace_hash[:16]}…")
    for line in parameters:
        typer.echo(line)
    rows = [_change_row(change) for change in changes if _differs(change)]
    if rows:
        _print_rows(("variant", "metric", "before", "after", "change", "is it clear?"), rows)
    else:
        typer.echo("no metric differs")


def _default_place(id_: str, profile: str, seed: int | None, sets: Sequence[str]) -> Path:
    """A replay or a change does not replace the result of the experiment itself."""
    name = profile
    if seed is not None:
        name += f"+seed-{seed}"
    if sets:
        name += "+" + "+".join(re.sub(r"[^\w.=-]+", "_", text) for text in sets)
    return Path("out/lab") / re.sub(r"[^\w.+-]", "-", id_) / name[:120]


def _seeds(count: int | None, one: int | None) -> list[int] | None:
    if count is not None and one is not None:
        raise UsageError("--seeds says how many, --seed which one: write one of them")
    if count is not None and not 1 <= count <= _SEEDS_MAX:
        raise UsageError(f"--seeds must be 1 or more, up to {_SEEDS_MAX}, not {count}")
    if one is not None and not 0 <= one < 1 << 63:
        raise UsageError(f"a seed is 0 or more and has 63 bits, not {one}")
    if one is not None:
        return [one]
    return None if count is None else list(range(1, count + 1))


@contextmanager
def _progress(title: str, jobs: Sequence[Job]) -> Iterator[Any]:
    """A bar on a terminal: simulated time, how fast it passes, how long it will take."""
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

        def board(times: Sequence[float]) -> None:
            elapsed_s = bar.tasks[0].elapsed or 0.0
            done_s = sum(times)
            rate = done_s / elapsed_s if elapsed_s else 0.0
            bar.update(task, completed=done_s, rate=rate)

        yield board


def _show(result: Result, title: str, sets: Sequence[str]) -> None:
    count = len(result.seeds)
    seeds = f"{count} seeds" if count > 1 else f"seed {result.seeds[0]}"
    typer.echo(f"{result.id}: {title} ({result.profile}, {seeds})")
    for text in sets:
        typer.echo(f"with {text}")
    typer.echo()
    _show_curves(result)
    names = dict.fromkeys(name for figures in result.variants.values() for name in figures)
    rows = [
        (name, *(_estimate(figures.get(name)) for figures in result.variants.values()))
        for name in names
    ]
    _print_rows(("metric", *result.variants), rows)
    if result.expect:
        typer.echo("\nexpected")
        _print_rows(
            ("", "metric", "variant", "goal", "seen", "published"),
            [_verdict_row(verdict) for verdict in result.expect],
        )
        _show_remarks(result)


def _show_curves(result: Result) -> None:
    """By second of the experiment, from its beginning to its end."""
    curves = {
        name if len(result.series) == 1 else f"{variant} {name}": values
        for variant, series in result.series.items()
        for name, values in series.items()
        if any(values)
    }
    if curves:
        width = max(map(len, curves))
        for label, values in curves.items():
            most = f"{_number(max(values))}{_unit_of(label)}"
            typer.echo(f"{label:>{width}} {sparkline(values)} up to {most}")
        typer.echo()


def _unit_of(curve: str) -> str:
    """Curves count things by the second, unless their names say otherwise."""
    if curve.endswith("_ms"):
        return " ms"
    return "" if curve.endswith("_chance") else "/s"


def _show_remarks(result: Result) -> None:
    if any(_word(verdict) == _UNSURE for verdict in result.expect):
        typer.echo(f"({_UNSURE}: the mean meets the goal, its interval does not: more seeds help)")
    for verdict in result.expect:
        if verdict.value is None:
            near = get_close_matches(verdict.metric, result.variants[verdict.variant], n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            typer.echo(f"({verdict.metric} was not measured{hint})")


def sparkline(values: Sequence[float], width: int = _PLOT_WIDTH) -> str:
    """A curve in one line of text, from 0 to its highest value."""
    size = min(width, len(values))
    edges = [i * len(values) // size for i in range(size + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means) or 1
    return "".join(_BARS[min(len(_BARS) - 1, int(mean / top * len(_BARS)))] for mean in means)


def _verdict_row(verdict: Verdict) -> tuple[str, ...]:
    goal = verdict.goal
    said = f"{goal[0]:g} to {goal[1]:g}" if isinstance(goal, list) else f"{verdict.op} {goal:g}"
    if verdict.ratio_to is not None:
        said += f" × {verdict.ratio_to}"
    published = verdict.published
    return (
        _word(verdict),
        verdict.metric,
        verdict.variant,
        said,
        "not measured" if verdict.value is None else _interval(verdict.value, verdict.ci95),
        "" if published is None else published if isinstance(published, str) else f"{published:g}",
    )


def _word(verdict: Verdict) -> str:
    from penstock.lab.expect import holds
    from penstock.lab.statistics import Estimate

    if verdict.ok:
        return "met"
    if verdict.value is not None and holds(Estimate(verdict.value, None), verdict.op, verdict.goal):
        return _UNSURE
    return "MISSED"


def _change_row(change: Change) -> tuple[str, ...]:
    relative = change.relative
    return (
        change.variant,
        change.metric,
        _estimate(change.before),
        _estimate(change.after),
        "" if relative is None else f"{relative:+.1%}",
        {None: "not known: one seed", True: "clear", False: "within the intervals"}[
            change.is_clear
        ],
    )


def _differs(change: Change) -> bool:
    if change.before is None or change.after is None:
        return True
    return change.before.mean != change.after.mean


def _estimate(figure: Estimate | None) -> str:
    if figure is None:
        return "-"
    unit = f" {figure.unit}" if figure.unit else ""
    return _interval(figure.mean, figure.ci95) + unit


def _interval(mean: float, ci95: tuple[float, float] | None) -> str:
    if ci95 is None:
        return _number(mean)
    return f"{_number(mean)} ± {_number((ci95[1] - ci95[0]) / 2)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def _print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people; for pipes, tabs."""
    if on_terminal():
        print_table(headings, rows)
        return
    for row in (headings, *rows):
        typer.echo("\t".join(row))
