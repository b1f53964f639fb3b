"""`penstock report`: a page of a result, a sweep or kept traces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.pipeline.ingest import Intake
    from penstock.report.report_data import Facts
    from penstock.report.result_directories import Place
    from penstock.report.sweep import Sweep

app = new_app("A page with figures and tables.")

_TOGETHER: Final = Path("out/report")


@app.command()
def report(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="What 'lab run' wrote, or a directory of traces."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Where pages go: beside a result, or out/report for several."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The Spark master that analyses traces."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Makes one HTML page of a result, with its figures as PNG and PDF beside it.

    Results of one experiment that differ in parameters become one page. Where traces
    were kept they are analysed first, which needs Spark: pip install 'penstock[spark]'.

    \b
    Example:
      penstock lab run M-3.15 --out out/a
      penstock report out/a
    """
    from penstock.report.result_directories import places
    from penstock.report.sources import facts_of, subjects

    there_are = [place for directory in directories for place in places(directory)]
    analysed = [_analysed(place, master) for place in there_are]
    every = subjects(facts for place in analysed for facts in facts_of(place))
    homes = _homes(every, directories, out)
    pages = [_write(subject, home) for subject, home in zip(every, homes, strict=True)]
    if as_json:
        print_json({"pages": [str(page) for page in pages]})
        return
    for page in pages:
        typer.echo(str(page))


def _write(subject: Facts | Sweep, home: Path) -> Path:
    from penstock.report.page import report_of

    return report_of(subject).write(home)


def _homes(every: Sequence[Facts | Sweep], given: Sequence[Path], out: Path | None) -> list[Path]:
    """One page goes where it is told to, or beside its results; several get a directory each."""
    if len(every) == 1:
        beside = given[0].parent if given[0].is_file() else given[0]
        return [out or (beside if len(given) == 1 else _TOGETHER / _named(every[0]))]
    names = [_named(subject) for subject in every]
    numbered = [
        f"{name}-{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
    return [(out or _TOGETHER) / name for name in numbered]


def _named(subject: Facts | Sweep) -> str:
    from penstock.report.sweep import Sweep

    facts = subject.points[0] if isinstance(subject, Sweep) else subject
    return re.sub(r"[^\w.+-]", "-", f"{facts.id}-{facts.result.profile}").lstrip(".")


def _analysed(place: Place, master: str | None) -> Place:
    """With gold tables, where there are traces; a result alone is good enough without Spark."""
    from penstock.report.result_directories import GOLD

    if place.traces is None:
        return place
    if not place.is_stale:
        _tell_left_out(place.traces)
        return place
    gold = place.directory / GOLD
    try:
        _run_pipeline(place.traces, gold, master)
    except UsageError as error:
        if place.result is None:
            raise
        typer.echo(f"penstock: without what traces tell: {error}", err=True)
        return replace(place, gold=None)
    return replace(place, gold=gold)


def _run_pipeline(traces: Path, gold: Path, master: str | None) -> None:
    from penstock.pipeline.session import open_session  # isort: skip  says how to get Spark
    from penstock.pipeline.ingest import take_in
    from penstock.pipeline.jobs import Job, perform

    intake = take_in([traces])
    with open_session(master, is_brief=True) as spark:
        done = perform(spark, Job(runs=intake.runs, out=gold))
    for note in (*intake.notes, *_left_out(intake), *done.notes):
        typer.echo(f"penstock: {note}", err=True)


def _tell_left_out(traces: Path) -> None:
    """What the tables lack that were made of them before; without Spark nobody can tell."""
    try:
        from penstock.pipeline.ingest import take_in

        notes = _left_out(take_in([traces]))
    except (UsageError, ImportError):
        return
    for note in notes:
        typer.echo(f"penstock: {note}", err=True)


def _left_out(intake: Intake) -> list[str]:
    return [f"{run.path} was left out: {run.reason}" for run in intake.quarantine]
