"""`penstock subscribe`: what matches a filter, one line a message."""

from __future__ import annotations

import json
from base64 import b64encode
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import new_app
from penstock.cli.inputs import read_filter
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.subscription import Received, Subscription

app = new_app("Messages from a network.")


class Late(StrEnum):
    """What becomes of a message whose successors were handed over already."""

    DELIVER = "deliver"
    DROP = "drop"


@app.command()
def subscribe(
    text: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, its JSON form, or @FILE.")
    ],
    broker: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the broker listens.")
    ] = "127.0.0.1:7400",
    count: Annotated[int | None, typer.Option(min=1, help="End after so many messages.")] = None,
    max_delay: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The longest wait for a message that is overtaken."),
    ] = None,
    violation_probability: Annotated[
        float | None,
        typer.Option(metavar="P", help="The share of overtaken messages that may come too late."),
    ] = None,
    late: Annotated[
        Late, typer.Option(help="What to do with a message that comes too late.")
    ] = Late.DELIVER,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Print what arrives as it arrives.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Print publisher, number, fate and payload (base64) too."),
    ] = False,
    network: Annotated[
        str, typer.Option(metavar="NAME", help="The network that the broker is of.")
    ] = "penstock",
) -> None:
    """Prints matching messages, one JSON object a line, each publisher's in order.

    Ends by Ctrl-C or SIGTERM, or after --count messages. The lines are what
    'penstock publish' reads, unless --full is given.

    \b
    Example:
      penstock subscribe 'symbol = "IBM" and price < 120'
      penstock subscribe 'exists price' --full --count 10 --max-delay 0.2
    """
    if unordered and violation_probability is not None:
        raise UsageError("--unordered has no use for --violation-probability: leave one out")
    from penstock.live.agreement import Agreement
    from penstock.live.client import connect
    from penstock.live.run import run

    predicate = read_filter(text)

    async def program() -> None:
        async with connect(broker, agreement=Agreement(name=network)) as node:
            subscription = node.subscribe(
                predicate,
                order=not unordered,
                max_delay=max_delay,
                violation_probability=violation_probability,
                late=late.value,
            )
            async with subscription:
                # For whoever waits to publish; what is printed on standard output is messages.
                typer.echo(f"subscribed at {broker}", err=True)
                await _print(subscription, count, full)

    run(program())


async def _print(subscription: Subscription, count: int | None, full: bool) -> None:
    left = count
    async for message in subscription:
        typer.echo(json.dumps(_full(message) if full else dict(message.attributes)))
        if left is not None:
            left -= 1
            if not left:
                return


def _full(message: Received) -> dict[str, object]:
    return {
        # As text: many readers of JSON have no integers of 64 bits.
        "publisher": str(message.publisher),
        "number": message.number,
        "fate": message.fate.value,
        "attributes": dict(message.attributes),
        "payload": b64encode(message.payload).decode(),
    }
