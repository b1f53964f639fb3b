"""`penstock effairness`: compares actual services with the effair ideal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli import new_app
from penstock.cli.inputs import load_json
from penstock.cli.output import AsJson, on_terminal, print_json, print_table
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.fairness.effairness import Outcome
    from penstock.fairness.network import Network, Receiver

FILE_BYTES_MAX: Final = 1 << 27
# Tables and plots show the receivers with the lowest indices; --json has all.
SHOWN_MAX: Final = 30
DRAWN_MAX: Final = 12
SUFFIXES: Final = (".png", ".pdf", ".svg")
# With fewer receivers the work is too short for a progress bar.
BAR_MIN: Final = 2_000
NAMES: Final = {"maxmin": "max-min", "proportional": "proportional"}

app = new_app("How near actual services came to the effair ideal.")


@app.command()
def effairness(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A network as JSON or CSV; - for stdin.")
    ],
    allocation: Annotated[
        str, typer.Option(metavar="NAME", help="What is ideal: maxmin or proportional.")
    ] = "maxmin",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw rates over time: a .png, .pdf or .svg file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How near each receiver, session and the network came to the effair ideal.

    FILE describes links, sessions, and when receivers joined, left, and with how much
    data; docs/effairness.md says how. An index of 1 is as good as the ideal, .5 took
    twice as long.

    \b
    Example:
      penstock effairness network.json
      penstock effairness network.csv --allocation proportional --plot rates.svg
    """
    from penstock.fairness.effair import allocation_named
    from penstock.fairness.effairness import effairness as judge

    ideal = allocation_named(allocation)
    figure = _figure(plot) if plot else None
    network = _read(file)
    with _progress(network) as progress:
        outcome = judge(network, ideal, progress)
    if figure is not None:
        _draw(figure, outcome)
        figure.savefig(plot)
    if as_json:
        if not outcome.has_rates:
            typer.echo("penstock: rates changed too often to be listed: left out", err=True)
        print_json(_as_json(outcome))
        return
    _show(outcome, allocation)
    if plot:
        typer.echo(f"\n{plot}")


def _read(file: str) -> Network:
    from penstock.fairness.csv_network import from_table
    from penstock.fairness.json_network import from_document

    text = _text(file)
    try:
        if text.lstrip().startswith(("{", "[")):
            return from_document(load_json(text))
        return from_table(text)
    except UsageError as error:
        raise UsageError(f"{'standard input' if file == '-' else file}: {error}") from None


def _text(file: str) -> str:
    try:
        if file == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed: name a file")
            content = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror or error}") from None
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"{file} is larger than {FILE_BYTES_MAX} bytes: judge less at a time")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 at byte {error.start + 1}") from None


@contextmanager
def _progress(network: Network) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal that counts receivers with all their data."""
    total = len(network.receivers())
    if total < BAR_MIN or not sys.stderr.isatty():
        yield lambda _count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{total:,} receivers", total=total)
        yield lambda count: bar.advance(task, count)


def _as_json(outcome: Outcome) -> dict[str, object]:
    receivers = outcome.network.receivers()
    facts = zip(receivers, outcome.finish.tolist(), outcome.by_receiver.tolist(), strict=True)
    rates = None
    if outcome.has_rates:
        rates = {
            receiver.id: outcome.rates(position) for position, receiver in enumerate(receivers)
        }
    return {
        "receivers": {
            receiver.id: {"finish": finish, "effairness": index}
            for receiver, finish, index in facts
        },
        "sessions": outcome.by_session,
        "network": outcome.overall,
        "rates": rates,
    }


def _show(outcome: Outcome, allocation: str) -> None:
    typer.echo(f"effairness of the network: {outcome.overall:.3f} ({NAMES[allocation]})")
    worst = _worst(list(outcome.by_session.values()), SHOWN_MAX)
    sessions = outcome.network.sessions
    _table(
        ("session", "receivers", "effairness"),
        [
            (s.id, str(len(s.receivers)), f"{outcome.by_session[s.id]:.3f}")
            for s in (sessions[position] for position in worst)
        ],
        len(sessions),
    )
    _show_receivers(outcome)
    anchors = [
        (str(number), graph.anchor, str(len(graph.arrival)), str(len(graph.links)))
        for number, graph in enumerate(outcome.graphs[:SHOWN_MAX], start=1)
    ]
    _table(("component", "anchor", "receivers", "links"), anchors, len(outcome.graphs))


def _show_receivers(outcome: Outcome) -> None:
    receivers = outcome.network.receivers()
    session_of = [s.id for s in outcome.network.sessions for _ in s.receivers]
    worst = _worst(outcome.by_receiver.tolist(), SHOWN_MAX)
    rows, rates = [], []
    for position in worst:
        receiver = receivers[position]
        times = (receiver.join, receiver.leave, outcome.finish[position])
        index = f"{outcome.by_receiver[position]:.3f}"
        rows.append((receiver.id, session_of[position], *(f"{t:.10g}" for t in times), index))
        if outcome.has_rates:
            rates += [
                (receiver.id, *(f"{value:.10g}" for value in period))
                for period in _periods(receiver, outcome.rates(position))
            ]
    headings = ("receiver", "session", "join", "leave", "ideal finish", "effairness")
    _table(headings, rows, len(receivers))
    _table(("receiver", "from", "until", "ideal rate", "actual rate"), rates, len(rates))


def _periods(
    receiver: Receiver, steps: Sequence[tuple[float, float]]
) -> list[tuple[float, float, float, float]]:
    """Periods of constant ideal rate: (start, stop, ideal rate, mean actual rate)."""
    changes = dict(steps)
    duration = receiver.leave - receiver.join
    actual = receiver.data / duration if duration else 0.0
    periods, ideal = [], 0.0
    for start, stop in pairwise(sorted({receiver.join, receiver.leave, *changes})):
        ideal = changes.get(start, ideal)
        periods.append((start, stop, ideal, actual if stop <= receiver.leave else 0.0))
    return periods


def _worst(indices: Sequence[float], most: int) -> list[int]:
    """Positions of all indices, or of the `most` lowest ones if there are more."""
    if len(indices) <= most:
        return list(range(len(indices)))
    return sorted(range(len(indices)), key=indices.__getitem__)[:most]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> None:
    typer.echo()
    if on_terminal():
        print_table(headings, rows)
    else:
        for row in (headings, *rows):
            typer.echo("\t".join(row))
    if len(rows) < total:
        typer.echo(f"({len(rows)} of {total:,} are shown, the worst first; --json has all)")


def _figure(plot: Path) -> Any:
    """An empty matplotlib figure; made first, so that errors appear before the computation."""
    if plot.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--plot writes {', '.join(SUFFIXES)}: name the file so, not {plot.name!r}"
        )
    try:
        from importlib import import_module

        # Imported by name, so that mypy works where matplotlib is not installed.
        return import_module("matplotlib.figure").Figure(layout="constrained")
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install matplotlib") from None


def _draw(figure: Any, outcome: Outcome) -> None:
    """Draws one panel per receiver, with a shared time axis."""
    receivers = outcome.network.receivers()
    shown = _worst(outcome.by_receiver.tolist(), DRAWN_MAX)
    figure.set_size_inches(8, 1 + 1.2 * len(shown))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for panel, position in zip(panels, shown, strict=True):
        receiver = receivers[position]
        periods = _periods(receiver, outcome.rates(position) if outcome.has_rates else [])
        edges = [period[0] for period in periods] + [period[1] for period in periods[-1:]]
        if periods:
            ideal, actual = ([period[column] for period in periods] for column in (2, 3))
            panel.stairs(ideal, edges, fill=True, alpha=0.4, label="ideal")
            panel.stairs(actual, edges, linestyle="--", color="black", label="actual (mean)")
        panel.set_ylabel("rate")
        index = f"{outcome.by_receiver[position]:.3f}"
        panel.set_title(f"{receiver.id}: effairness {index}", loc="left", fontsize=9)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    panels[-1].set_xlabel("time")
