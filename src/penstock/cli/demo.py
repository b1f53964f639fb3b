"""`penstock demo`: simulation, analysis on Spark and report in one command.

Simulates a broker network with reordering, loss and congestion five times (the transport
off, each part alone, all parts), analyses the traces on Spark, and prints a table and
writes a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json, print_rows

if TYPE_CHECKING:
    from penstock.lab.result import Result

app = new_app("The main job, from end to end.")

EXPERIMENT: Final = "demo"
# Rows of the table: metric, label, number format.
ROWS: Final = (
    ("offered", "published", "{:,.0f}"),
    ("dropped_at_source", "dropped at the source", "{:,.0f}"),
    ("deliveries", "handed over", "{:,.0f}"),
    ("false_negatives", "sent, and never handed over", "{:,.0f}"),
    ("violations", "out of order", "{:,.0f}"),
    ("repaired", "got back", "{:,.0f}"),
    ("held_mean", "held back on average", "{:.0f} ms"),
    ("delay_mean", "delay since it left, on average", "{:.0f} ms"),
    ("delay_p99", "1 % took longer than", "{:,.0f} ms"),
    ("bottleneck_use", "use of the slow link", "{:.0%}"),
)

Table = Mapping[str, Mapping[str, float]]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("out/demo"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same trace.")] = 1,
    profile: Annotated[str, typer.Option(help="show, or quick for a short one.")] = "show",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; this machine if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The transport off, each part of it alone, and all on: on a network in all its troubles.

    \b
    Example:
      penstock demo
      penstock demo --seed 7 --out /tmp/demo
    """
    # Opened first, so that a missing Java is reported before the simulation.
    from penstock.pipeline.session import open_session  # isort: skip  says how to get Spark
    from penstock.pipeline.ingest import find_runs
    from penstock.pipeline.jobs import PipelineJob, run_pipeline

    with open_session(master, is_brief=True) as spark:
        _print_step("1/3 simulating a market five times: all off, each part alone, all on", as_json)
        result = _simulate(out, seed, profile)
        _print_step("2/3 analysing the traces on Spark", as_json)
        runs = find_runs([out / "traces"]).runs
        run_pipeline(spark, PipelineJob(runs=runs, out=out / "gold"))
    _print_step("3/3 drawing", as_json)
    page = _page(out)
    table = _table(out / "gold", list(result.parameters))
    if as_json:
        print_json({"report": str(page), "variants": table, "trace_hash": result.trace_hash})
        return
    _show(table, page)


def _simulate(out: Path, seed: int, profile: str) -> Result:
    from penstock.cli.lab import progress
    from penstock.lab.experiment_files import find_experiment
    from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
    from penstock.lab.result import write_result

    experiment_file = find_experiment(EXPERIMENT)
    plan = ExperimentPlan(profile=profile, seeds=[seed], keep=out / "traces", runs=out / "runs")
    jobs = plan_jobs(experiment_file, plan)
    with progress(EXPERIMENT, jobs) as report_progress:
        result = run_experiment(experiment_file, plan, report_progress, jobs)
    write_result(result, out / "result.json")
    return result


def _page(out: Path) -> Path:
    from penstock.report.page import report_of
    from penstock.report.result_directories import result_directories
    from penstock.report.sources import report_data_of, subjects

    (subject,) = subjects(
        facts for found in result_directories(out) for facts in report_data_of(found)
    )
    return report_of(subject).write(out)


def _table(gold: Path, variants: Sequence[str]) -> Table:
    """The pipeline's figures of each variant."""
    from penstock.pipeline.gold_files import read_gold

    table: dict[str, dict[str, float]] = {name: {} for name in variants}
    # Rows of the network come first, so that a figure of the ordering replaces its namesake.
    for row in sorted(read_gold(gold)["figures"].to_pylist(), key=lambda row: row["ordering"]):
        variant = row["run"].split(".")[2]
        table[variant][row["metric"]] = row["value"]
    return table


def _show(table: Table, page: Path) -> None:
    rows = []
    for metric, label, form in ROWS:
        values = [figures.get(metric) for figures in table.values()]
        rows.append((label, *("-" if v is None else form.format(v) for v in values)))
    print_rows(("", *table), rows)
    typer.echo(f"\nthe same market each time; figures and more numbers: {page}")


def _print_step(step: str, as_json: bool) -> None:
    if not as_json:
        typer.echo(step, err=True)
