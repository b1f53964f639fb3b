"""`penstock stream broker`: runs a broker of guaranteed streams."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.guaranteed.broker import StreamBroker

_LISTEN: Final = "127.0.0.1:7451"


def broker(
    directory: Annotated[
        Path, typer.Option(help="Where logs and cursors are kept; created if it is not there.")
    ],
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; port 0 for any.")
    ] = _LISTEN,
    parent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A broker to take streams from; repeated: each stream from one of them.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Its name among brokers.", show_default="drawn once, then kept"),
    ] = None,
) -> None:
    """Runs a broker until it is stopped, by Ctrl-C or SIGTERM.

    One disk holds a stream: there is no replication.

    \b
    Example:
      penstock stream broker --directory streams
      penstock stream broker --directory edge --listen 127.0.0.1:7461 --parent 127.0.0.1:7451
      penstock stream broker --directory edge --parent 10.0.0.7 --parent 10.0.0.8
    """
    from penstock.cli.run_until_stopped import run

    run(_serve(directory, listen, parent or [], name), is_daemon=True)


async def _serve(directory: Path, listen: str, parents: list[str], name: str | None) -> None:
    import logging

    from penstock.cli.node_options import errors_name_option
    from penstock.live.guaranteed.addresses import parse_address
    from penstock.live.guaranteed.broker import StreamBroker
    from penstock.live.net import address

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    with errors_name_option("--listen"):
        where = address.parse(listen.removeprefix("tcp://"), port_min=0)
    with errors_name_option("--parent"):
        above = [parse_address(each) for each in parents]
    for parent in above:
        if above.count(parent) > 1:
            raise UsageError(f"--parent {parent} is there twice: leave one of them out")
    running = StreamBroker(directory, name=name, parents=above)
    await running.start(where)
    # With port 0, programs read the address from this line.
    typer.echo(f"broker {running.name} listens at {running.address}")
    try:
        await running.wait()
    finally:
        await running.close()
        typer.echo(f"broker {running.name} ends: {_streams_in_words(running)}")


def _streams_in_words(running: StreamBroker) -> str:
    from penstock.cli.stream.texts import some

    pubends = running.machine.pubends.values()
    return (
        ", ".join(
            f"{each.stream} has {some(each.stored.size.messages, 'message')}" for each in pubends
        )
        or "no streams"
    )
