"""`penstock stream delete`: deletes a stream with its messages."""

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
def delete(
    stream: Annotated[str, typer.Argument(help="The name of a stream.")],
    yes: YesOption = False,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Deletes a stream with all its messages, whoever has not read them.

    On a terminal it asks first.

    \b
    Example:
      penstock stream delete orders --yes
    """
    confirm(f"Delete stream {stream} with all its messages?", yes=yes)
    ask_once(broker, timeout, "delete", {"stream": stream})
    if as_json:
        print_json({"deleted": stream})
    else:
        typer.echo(f"stream {stream} is deleted")
