"""`penstock bench`: measures, compares with the last run, and says which goals are met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.bench import BENCHES
from penstock.cli import new_app
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.bench.result import Result

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
    Benchmarks: match, bloom, wire, ordering, storm, congestion, effairness, pipeline,
    sim, sweep.
    Results are kept for each machine, under the user's state directory.
    Long ones: match, storm, effairness, pipeline and sweep, five to fifteen minutes.

    \b
    Example:
      penstock bench wire
      penstock bench match --json
    """
    if name is not None and name not in BENCHES:
        raise UsageError(f"there is no benchmark {name!r}: choose from {', '.join(BENCHES)}")
    if name is None and as_json:
        raise UsageError(
            "--json prints one object: name one benchmark, as in 'penstock bench wire'"
        )
    for chosen in BENCHES if name is None else [name]:
        _run(chosen, as_json)


def _run(name: str, as_json: bool) -> None:
    from penstock.bench.store import load_last, save

    last = load_last(name)
    result: Result = import_module(f"penstock.bench.{name}").run(_Progress())
    _clear_note()
    kept = save(result)
    if as_json:
        print_json(result.as_json())
        return
    typer.echo(f"{name}: {BENCHES[name]}")
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
