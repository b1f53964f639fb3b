"""`penstock pipeline`: computes gold tables from traces, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from penstock.pipeline.jobs import PipelineResult

app = new_app("Traces into gold tables.")


@app.command()
def pipeline(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACES…", help="Directories with runs in or below.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where the tables go, a new directory or one of such tables, which are replaced.",
        ),
    ],
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; this machine if left out.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this one; may be repeated. module:Class for your own."
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="Split each run by subscriber into this many; large runs if left out.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a run that cannot be used.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Metrics of all runs, by pair, by second and over seeds, as Parquet.

    \b
    Example:
      penstock lab run M-3.15 --keep --out out/a
      penstock pipeline out/a --out out/a/gold
    """
    from penstock.pipeline.session import open_session  # isort: skip  says how to get Spark
    from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
    from penstock.pipeline.gold_files import check_output_directory
    from penstock.pipeline.ingest import find_runs
    from penstock.pipeline.jobs import PipelineJob, run_pipeline

    find_metrics(metric or ())
    check_output_directory(out)
    intake = find_runs(traces, is_strict=strict)
    job = PipelineJob(runs=intake.runs, out=out, metrics=metric or DEFAULT_METRICS, parts=parts)
    with open_session(master) as spark:
        done = run_pipeline(spark, job)
    bad = [f"{run.path} was left out: {run.reason}" for run in intake.quarantine]
    _print_result(done, len(intake.runs), [*intake.notes, *bad, *done.notes], as_json=as_json)


def _print_result(done: PipelineResult, runs: int, notes: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"out": str(done.out), "runs": runs, "rows": done.rows, "notes": notes})
        return
    for note in notes:
        typer.echo(f"penstock: {note}", err=True)
    for name, rows in done.rows.items():
        typer.echo(f"{done.out / name}\t{rows} rows")
