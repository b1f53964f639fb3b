"""`penstock stream seek`: moves the cursor of a durable name."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import AsJson, print_json
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    answers_in_json,
    ask_once,
)


@answers_in_json
def seek(
    durable: Annotated[str, typer.Argument(help="A durable name.")],
    start: Annotated[
        str, typer.Argument(help="first, now, so far back as -30m, a time, or a position.")
    ],
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Lets a durable name go on elsewhere, forwards or back as far as the log reaches.

    With a position it goes on behind that message. Whoever reads the name goes on there too.

    \b
    Example:
      penstock stream seek billing first
      penstock stream seek billing -30m
      penstock stream seek billing 2026-11-18T10:42:07Z
    """
    from time import time_ns

    ask_once(broker, timeout, "seek", {"durable": durable, **_place(start, time_ns())})
    if as_json:
        print_json({"durable": durable, "start": start})
    else:
        typer.echo(f"durable {durable} goes on from {start}")


def _place(start: str, now_ns: int) -> dict[str, object]:
    from penstock.api.start import StartKind, start_point

    point = start_point(start, now_ns=now_ns, of_stream=True)
    if point.kind is StartKind.TIME:
        return {"start": "time", "value": point.time_ns}
    if point.position is not None:
        pubend = f"{point.position.pubend:016x}"
        return {"start": "tick", "value": point.position.tick, "pubend": pubend}
    return {"start": point.kind.value}
