"""`penstock report`: makes pages of results, sweeps or traces."""

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
    from penstock.pipeline.ingest import FoundRuns
    from penstock.report.report_data import ReportData
    from penstock.report.result_directories import ResultDirectory
    from penstock.report.sweep import Sweep

app = new_app("A page with figures and tables.")

_SHARED_DIRECTORY: Final = Path("out/report")


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
    from penstock.report.result_directories import result_directories
    from penstock.report.sources import report_data_of, subjects

    found = [item for directory in directories for item in result_directories(directory)]
    analysed = [_analyse(item, master) for item in found]
    every = subjects(facts for item in analysed for facts in report_data_of(item))
    outputs = _output_directories(every, directories, out)
    pages = [_write(subject, home) for subject, home in zip(every, outputs, strict=True)]
    if as_json:
        print_json({"pages": [str(page) for page in pages]})
        return
    for page in pages:
        typer.echo(str(page))


def _write(subject: ReportData | Sweep, directory: Path) -> Path:
    from penstock.report.page import report_of

    return report_of(subject).write(directory)


def _output_directories(
    every: Sequence[ReportData | Sweep], given: Sequence[Path], out: Path | None
) -> list[Path]:
    """A directory per page: for one page `out` or that of its result, for several one each."""
    if len(every) == 1:
        own_directory = given[0].parent if given[0].is_file() else given[0]
        return [
            out or (own_directory if len(given) == 1 else _SHARED_DIRECTORY / _page_name(every[0]))
        ]
    names = [_page_name(subject) for subject in every]
    numbered = [
        f"{name}-{names[: index + 1].count(name)}" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]
    return [(out or _SHARED_DIRECTORY) / name for name in numbered]


def _page_name(subject: ReportData | Sweep) -> str:
    from penstock.report.sweep import Sweep

    facts = subject.points[0] if isinstance(subject, Sweep) else subject
    return re.sub(r"[^\w.+-]", "-", f"{facts.id}-{facts.result.profile}").lstrip(".")


def _analyse(result_directory: ResultDirectory, master: str | None) -> ResultDirectory:
    """Makes gold tables if there are new traces; without Spark, a result alone is enough."""
    from penstock.report.result_directories import GOLD

    if result_directory.traces is None:
        return result_directory
    if not result_directory.is_stale:
        _print_left_out(result_directory.traces)
        return result_directory
    gold = result_directory.directory / GOLD
    try:
        _run_pipeline(result_directory.traces, gold, master)
    except UsageError as error:
        if result_directory.result is None:
            raise
        typer.echo(f"penstock: without what traces tell: {error}", err=True)
        return replace(result_directory, gold=None)
    return replace(result_directory, gold=gold)


def _run_pipeline(traces: Path, gold: Path, master: str | None) -> None:
    from penstock.pipeline.session import open_session  # isort: skip  says how to get Spark
    from penstock.pipeline.ingest import find_runs
    from penstock.pipeline.jobs import PipelineJob, run_pipeline

    intake = find_runs([traces])
    with open_session(master, is_brief=True) as spark:
        done = run_pipeline(spark, PipelineJob(runs=intake.runs, out=gold))
    for note in (*intake.notes, *_left_out(intake), *done.notes):
        typer.echo(f"penstock: {note}", err=True)


def _print_left_out(traces: Path) -> None:
    """Prints the runs that existing gold tables lack; prints nothing without Spark."""
    try:
        from penstock.pipeline.ingest import find_runs

        notes = _left_out(find_runs([traces]))
    except (UsageError, ImportError):
        return
    for note in notes:
        typer.echo(f"penstock: {note}", err=True)


def _left_out(intake: FoundRuns) -> list[str]:
    return [f"{run.path} was left out: {run.reason}" for run in intake.quarantine]
