"""`penstock stream forget`: gives up a broker that will not come back."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import AsJson, print_json
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    YesOption,
    answers_in_json,
    ask_once,
    confirm,
)


@answers_in_json
def forget(
    host: Annotated[str, typer.Argument(help="The name of a broker, as 'status' shows it.")],
    yes: YesOption = False,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Forgets a broker that will not come back, with all its durable names.

    Ask the broker that stores the streams. What was kept for the other one alone is no longer kept.
    If it comes back all the same, its readers are told of the gap. On a terminal it asks first.

    \b
    Example:
      penstock stream forget edge7
    """
    confirm(f"Forget broker {host} and all its durable names?", yes=yes)
    ask_once(broker, timeout, "forget", {"host": host})
    if as_json:
        print_json({"forgotten": host})
    else:
        typer.echo(f"broker {host} is forgotten")
