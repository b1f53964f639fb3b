"""`penstock broker`: one broker of a network, on a UDP socket."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli import new_app
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

app = new_app("A broker on a UDP socket.")


@app.command()
def broker(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 for any.")
    ] = "127.0.0.1:7400",
    neighbour: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="Another broker; it must name this one too."),
    ] = None,
    number: Annotated[
        int | None, typer.Option(min=1, help="Its name in the network: another for each broker.")
    ] = None,
    network: Annotated[
        str, typer.Option(metavar="NAME", help="Brokers and clients of other networks are ignored.")
    ] = "penstock",
    as_json: AsJson = False,
) -> None:
    """Runs a broker until it is stopped, by Ctrl-C or SIGTERM; then says what it did.

    \b
    Example:
      penstock broker --listen 127.0.0.1:7400
      penstock broker --listen 127.0.0.1:7401 --number 1 --neighbour 127.0.0.1:7402
      penstock broker --listen 127.0.0.1:7402 --number 2 --neighbour 127.0.0.1:7401
    """
    if neighbour and number is None:
        raise UsageError("brokers with neighbours need numbers: add --number 2, or 3 and so on")
    from penstock.live.agreement import Agreement
    from penstock.live.broker import serve
    from penstock.live.run import run

    mine = 1 if number is None else number

    async def program() -> None:
        async with serve(
            listen,
            number=mine,
            neighbours=neighbour or (),
            agreement=Agreement(name=network),
        ) as live:
            # Programs that chose port 0 read the address here, or from the JSON object.
            typer.echo(f"broker {mine} listens at {live.address}", err=as_json)
            try:
                await live.wait()
            finally:
                counters = {part: dict(counts) for part, counts in live.counters.items()}
                if as_json:
                    print_json({"broker": mine, "address": live.address, "counters": counters})
                else:
                    said = [f"{name} {n}" for name, n in counters["broker"].items() if n]
                    typer.echo(f"broker {mine} ends: {', '.join(said) or 'nothing happened'}")

    run(program())
