"""`penstock stream create`: creates a stream at a broker."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.output import AsJson, print_json
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    answers_in_json,
    ask_all,
    ask_once,
    run_once,
)
from penstock.kernel.errors import RefusedError, UsageError


class Overflow(StrEnum):
    """What happens when messages that somebody has not read fill a stream."""

    REFUSE = "refuse"
    DROP = "drop"


class SlowHost(StrEnum):
    """Whether a slow host slows publishers."""

    THROTTLE = "throttle"
    LAG = "lag"


@answers_in_json
def create(
    stream: Annotated[
        str, typer.Argument(help="Its name: letters, digits, '._-', first a letter or digit.")
    ],
    retention_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="How much it keeps, such as 50GB; none for no limit.",
            show_default="10GB",
        ),
    ] = None,
    retention_age: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How long it keeps what all have read, such as 12h; none for no limit.",
            show_default="7d",
        ),
    ] = None,
    overflow: Annotated[
        Overflow | None,
        typer.Option(
            help="When unread messages fill it: refuse new ones, or drop the oldest.",
            show_default="refuse",
        ),
    ] = None,
    slow_host: Annotated[
        SlowHost | None,
        typer.Option(
            help="While a broker is far behind: slow publishers down, or let it lag.",
            show_default="throttle",
        ),
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="Change the limits of a stream that is there.")
    ] = False,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Creates a stream at a broker, which stores it; or changes its limits.

    A stream that is there already is left as it is without --change; the exit code is then 1.

    \b
    Example:
      penstock stream create orders
      penstock stream create prices --retention-size 1GB --retention-age 1h --overflow drop
      penstock stream create orders --retention-size 50GB --change
    """
    from penstock.cli.stream.texts import retention, stream_json
    from penstock.wire.frames.guaranteed.base import check_stream_name

    check_stream_name(stream)
    limits = _limits(retention_size, retention_age, overflow)
    if change:
        if slow_host is not None:
            raise UsageError("--slow-host cannot be changed: leave it out")
        if not limits:
            raise UsageError(
                "--change changes limits: add --retention-size, --retention-age or --overflow"
            )
        verb, arguments = "change", {"stream": stream, **limits}
    else:
        verb = "create"
        slowness = slow_host or SlowHost.THROTTLE
        arguments = {"stream": stream, "retention": limits, "slow_host": slowness.value}
    try:
        found = ask_once(broker, timeout, verb, arguments)
    except RefusedError as error:
        if error.reason != "exists":
            raise
        if as_json:
            print_json({**_as_it_is(stream, broker, timeout), "is_created": False})
        typer.echo(f"stream {stream} was there already, and stays as it is", err=True)
        raise typer.Exit(1) from None
    if as_json:
        print_json({**stream_json(found), "is_created": not change})
    else:
        done = "is changed" if change else "is there now"
        typer.echo(f"stream {stream} {done} ({retention(found['retention'], found['slow_host'])})")


def _as_it_is(stream: str, broker: list[str] | None, timeout: str) -> dict[str, object]:
    """A stream that was there before."""
    from penstock.cli.stream.texts import stream_json

    found = run_once(
        broker, timeout, lambda node: ask_all(node, "list", "streams", timeout=timeout)
    )
    # It may have been deleted meanwhile.
    rows = [stream_json(each) for each in found if each["name"] == stream]
    return rows[0] if rows else {"name": stream}


def _limits(size: str | None, age: str | None, overflow: Overflow | None) -> dict[str, object]:
    """What was given; the broker knows the rest."""
    from penstock.api.units import duration_ns, size_bytes

    limits: dict[str, object] = {}
    if size is not None:
        number = None if size == "none" else size_bytes("--retention-size", size, low_bytes=1)
        limits["size_bytes"] = number
    if age is not None:
        limits["age_ns"] = None if age == "none" else duration_ns("--retention-age", age)
    if overflow is not None:
        limits["drops"] = overflow is Overflow.DROP
    return limits
