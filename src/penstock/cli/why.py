"""`penstock why`: tells the history of one message from a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from penstock.tracefile.delivery_verdict import DeliveryVerdict
    from penstock.tracefile.message_history import MessageHistory

app = new_app("The life of one message.")


@app.command()
def why(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A directory of runs, or one run's own.")
    ],
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="publisher:seq, or publisher:epoch:seq.")
    ],
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Which run, when there are several.")
    ] = None,
    subscriber: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what concerns this one.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Tell long lists in full instead of counting.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The life of one message: where it went, what was decided about it, who got it and why not.

    Reads a trace that a run kept. Times are seconds of the run's clock.

    \b
    Example:
      penstock lab run M-4.3 --seed 3 --keep --set record.hops=true --out out/a
      penstock why out/a publishers-2:17 --run M-4.3.quick.off.3
    """
    from penstock.tracefile.delivery_verdict import judge_deliveries
    from penstock.tracefile.history_text import history_lines
    from penstock.tracefile.message_history import read_history
    from penstock.tracefile.message_selector import check_subscriber, find_message, open_run

    reader, run_id = open_run(trace, run)
    history = read_history(reader, run_id, find_message(reader, run_id, message))
    if subscriber is None:
        verdicts = judge_deliveries(reader, history)
    else:
        check_subscriber(reader, run_id, subscriber)
        verdicts = judge_deliveries(reader, history, [subscriber])
        history = history.only_for(subscriber)
    for note in reader.notes:
        typer.echo(f"penstock: {note}", err=True)
    if as_json:
        print_json(_as_json(history, verdicts))
        return
    about = reader.run(run_id)
    for line in history_lines(history, about, verdicts, only=subscriber, everything=everything):
        typer.echo(line)


def _as_json(history: MessageHistory, verdicts: list[DeliveryVerdict]) -> dict[str, object]:
    """The history as rows of the trace, with times in nanoseconds."""
    from dataclasses import asdict

    from msgspec import to_builtins

    tables = ("hops", "drops", "arrivals", "deliveries", "losses", "requests", "repairs")
    return {
        "run": history.run,
        "message": asdict(history.message),
        "not_recorded": history.not_recorded,
        "publication": to_builtins(history.publication),
        "expected": list(history.expected),
        **{table: to_builtins(getattr(history, table)) for table in tables},
        "verdicts": to_builtins(verdicts),
    }
