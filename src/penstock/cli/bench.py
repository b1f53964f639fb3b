"""`penstock bench`: measures, compares with the last run, and says which goals are met.

The benchmarks are not part of the package: they stand in `bench/`, beside `src/`, and
are there only where the package runs from a clone.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from math import inf
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Final

import typer

import penstock
from penstock.cli import new_app
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from bench.result import Result

app = new_app("Side-by-side benchmarks.")

_LOG_EVERY_S: Final = 10.0


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which one; all of them if left out.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Side-by-side benchmarks: ratios taken in one run, and the change since the last.

    \b
    Benchmarks: match, bloom, wire, ordering, storm, congestion, effairness, metrics,
    pipeline, guaranteed, sim, sweep.
    Results are kept for each machine, under the user's state directory.
    Long ones: match, storm, effairness, metrics, pipeline, guaranteed and sweep, three to
    fifteen minutes.

    \b
    Example:
      penstock bench wire
      penstock bench match --json
    """
    benchmarks = _load_benchmarks()
    if name is not None and name not in benchmarks.BENCHES:
        raise UsageError(
            f"there is no benchmark {name!r}: choose from {', '.join(benchmarks.BENCHES)}"
        )
    if name is None and as_json:
        raise UsageError(
            "--json prints one object: name one benchmark, as in 'penstock bench wire'"
        )
    for chosen in benchmarks.BENCHES if name is None else [name]:
        _run(benchmarks, chosen, as_json)


def _load_benchmarks() -> ModuleType:
    """The package `bench` of the clone that this package runs from."""
    root = Path(penstock.__file__).parents[2]
    if not ((root / "bench" / "__init__.py").is_file() and _is_penstock(root / "pyproject.toml")):
        raise UsageError(
            "benchmarks are part of the source tree: clone the project, run 'make setup' there,"
            " and then '.venv/bin/penstock bench'"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("bench")


def _is_penstock(project_file: Path) -> bool:
    # Above an installed package there may be anything.
    try:
        document = tomllib.loads(project_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(document.get("project", {}).get("name") == "penstock")


def _run(benchmarks: ModuleType, name: str, as_json: bool) -> None:
    store = import_module("bench.store")
    last = store.load_last(name)
    result: Result = benchmarks.run(name, _Progress())
    _clear_note()
    kept = store.save(result)
    if as_json:
        print_json(result.as_json())
        return
    typer.echo(f"{name}: {benchmarks.BENCHES[name]}")
    rows = [
        (c.case, c.metric, _figure(c.value), c.unit, _verdict(c.value, c.goal),
         _change(c.value, last.get((c.case, c.metric))))
        for c in result.cases
    ]  # fmt: skip
    rows += [
        (key, "ratio", _figure(value), "×", _verdict(value, result.ratio_goals.get(key, "")), "")
        for key, value in result.ratios.items()
    ]
    headings = ("case", "metric", "value", "unit", "goal", "since last run")
    if on_terminal():
        print_table(headings, rows)
    else:
        for row in (headings, *rows):
            typer.echo("\t".join(row))
    for line in result.notes:
        typer.echo(f"({line})")
    if not kept:
        typer.echo("(this result could not be kept for the next run to compare with)")


def _figure(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _verdict(value: float, goal: str) -> str:
    if not goal:
        return ""
    relation, bound = goal.split()
    is_met = value >= float(bound) if relation == ">=" else value <= float(bound)
    return f"{goal} {'met' if is_met else 'MISSED'}"


def _change(value: float, before: float | None) -> str:
    if before is None or not before:
        return ""
    return f"{(value / before - 1) * 100:+.0f} %"


class _Progress:
    """Goes to standard error: on one line that the next overwrites, or a line now and then."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock: Final = clock
        self._next_s = -inf

    def __call__(self, line: str) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\r\x1b[K{line} …", err=True, nl=False)
        elif self._clock() >= self._next_s:
            # In a log nothing is overwritten, and minutes of nothing look like a fault.
            self._next_s = self._clock() + _LOG_EVERY_S
            typer.echo(f"{line} …", err=True)


def _clear_note() -> None:
    if sys.stderr.isatty():
        typer.echo("\r\x1b[K", err=True, nl=False)
