"""`penstock stream`: guaranteed streams, on disk and delivered once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli import new_app
from penstock.cli.inputs import decode_line, file_lines, read_message, stdin_lines
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.content.message import Message
    from penstock.live.guaranteed.broker import StreamBroker
    from penstock.live.guaranteed.node import Pending

app = new_app(
    """Guaranteed streams: every message on disk, once and in order.

    \b
    Example:
      penstock stream broker --directory streams
      penstock stream publish orders '{"symbol": "IBM", "qty": 100}' --create
      penstock stream subscribe orders 'qty >= 100' --durable billing --start first
    """
)

# Copies, so that --help need not import them.
_LISTEN: Final = "127.0.0.1:7451"
_BROKER: Final = "tcp://127.0.0.1:7451"
_WINDOW: Final = 1_000

BrokerOption = Annotated[
    str | None,
    typer.Option("--broker", metavar="ADDRESS", help="Where to connect.", show_default=_BROKER),
]
TimeoutOption = Annotated[
    str, typer.Option(metavar="DURATION", help="How long to wait for an answer.")
]


@app.command()
def broker(
    directory: Annotated[
        Path, typer.Option(help="Where logs and cursors are kept; created if it is not there.")
    ],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 for any.")
    ] = _LISTEN,
    parent: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="A broker to take streams from."),
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
    """
    from penstock.cli.run_until_stopped import run

    run(_serve(directory, listen, parent or [], name))


async def _serve(directory: Path, listen: str, parents: list[str], name: str | None) -> None:
    import logging

    from penstock.cli.node_options import errors_name_option
    from penstock.live.guaranteed.broker import StreamBroker
    from penstock.live.guaranteed.node import parse_address
    from penstock.live.net import address

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    with errors_name_option("--listen"):
        where = address.parse(listen.removeprefix("tcp://"), port_min=0)
    with errors_name_option("--parent"):
        above = [parse_address(each) for each in parents]
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
    pubends = running.machine.pubends.values()
    return (
        ", ".join(f"{pubend.stream} has {pubend.size.messages:,} messages" for pubend in pubends)
        or "no streams"
    )


@app.command()
def create(
    stream: Annotated[str, typer.Argument(help="Its name.")],
    broker: BrokerOption = None,
    timeout: TimeoutOption = "5s",
) -> None:
    """Creates a stream at a broker.

    \b
    Example:
      penstock stream create orders
    """
    from penstock.cli.run_until_stopped import run

    run(_create(stream, broker, timeout))


async def _create(stream: str, broker: str | None, timeout: str) -> None:
    from penstock.live.guaranteed.node import connect

    async with connect(broker, timeout=timeout) as node:
        created = await node.create_stream(stream)
    typer.echo(f"stream {stream} {'is there now' if created else 'was there already'}")


@app.command()
def publish(
    stream: Annotated[str, typer.Argument(help="The name of a stream.")],
    messages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE", help="JSON objects, or @FILE of lines; - or none for stdin."
        ),
    ] = None,
    broker: BrokerOption = None,
    name: Annotated[
        str | None,
        typer.Option(help="The publisher: repeats after a reconnect are stored once."),
    ] = None,
    payload: Annotated[str, typer.Option(help="Text that goes with every message.")] = "",
    create: Annotated[
        bool, typer.Option("--create", help="Create the stream if it is not there.")
    ] = False,
    timeout: TimeoutOption = "5s",
    as_json: AsJson = False,
) -> None:
    """Publishes messages; ends when all of them are on disk.

    \b
    Example:
      penstock stream publish orders '{"symbol": "IBM", "qty": 100}' --create
      penstock stream publish orders @orders.jsonl --name importer
    """
    from penstock.cli.run_until_stopped import run

    # What is wrong in an argument is said before anything is sent.
    given = list(_given(messages or ["-"]))
    run(_publish(stream, given, broker, name, payload.encode(), create, timeout, as_json))


def _given(arguments: list[str]) -> Iterator[Message]:
    for argument in arguments:
        if argument == "-":
            lines = stdin_lines()
        elif argument.startswith("@"):
            lines = file_lines(argument[1:])
        else:
            yield read_message(argument)
            continue
        for number, line in lines:
            try:
                yield read_message(decode_line(line))
            except UsageError as error:
                raise UsageError(f"line {number}: {error}") from None


async def _publish(
    stream: str,
    messages: list[Message],
    broker: str | None,
    name: str | None,
    payload: bytes,
    create: bool,
    timeout: str,
    as_json: bool,
) -> None:
    from penstock.live.guaranteed.node import connect

    async with connect(broker, name=name, timeout=timeout) as node:
        into = node.stream(stream, create=create)
        pending: list[Pending] = [
            await into.submit(message.attributes, payload) for message in messages
        ]
        confirmed = [await each for each in pending]
    if as_json:
        positions = [str(each.position) for each in confirmed]
        print_json({"stream": stream, "stored": len(confirmed), "positions": positions})
    else:
        typer.echo(f"{len(confirmed):,} messages are on disk", err=True)


@app.command()
def subscribe(
    stream: Annotated[str, typer.Argument(help="The name of a stream.")],
    filter: Annotated[str, typer.Argument(help="What to read: 'qty >= 100', or all.")] = "true",
    broker: BrokerOption = None,
    durable: Annotated[
        str | None,
        typer.Option(help="A name that is remembered, with how far it has read."),
    ] = None,
    start: Annotated[
        str, typer.Option(help="Where a new name begins: first, now, -30s, a time, a position.")
    ] = "now",
    count: Annotated[int | None, typer.Option(min=1, help="End after so many messages.")] = None,
    change_filter: Annotated[
        bool, typer.Option("--change-filter", help="Read on under another filter.")
    ] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="End whoever reads under this name.")
    ] = False,
    long: Annotated[bool, typer.Option("--long", help="All fields, not only attributes.")] = False,
    timeout: TimeoutOption = "5s",
) -> None:
    """Prints what the filter matches, one JSON object a line, until it is stopped.

    \b
    Example:
      penstock stream subscribe orders 'qty >= 100' --durable billing --start first
    """
    from penstock.cli.run_until_stopped import run

    options = {
        "durable": durable,
        "start": start,
        "window": min(_WINDOW, count or _WINDOW),
        "change_filter": change_filter,
        "takeover": takeover,
    }
    run(_subscribe(stream, filter, options, broker=broker, count=count, long=long, timeout=timeout))


async def _subscribe(
    stream: str,
    filter: str,
    options: dict[str, Any],
    *,
    broker: str | None,
    count: int | None,
    long: bool,
    timeout: str,
) -> None:
    from penstock.cli.output import JsonLines
    from penstock.live.guaranteed.node import connect

    lines, printed = JsonLines(), 0
    try:
        async with (
            connect(broker, timeout=timeout) as node,
            node.stream(stream).subscribe(filter, **options) as inbox,
        ):
            async for message in inbox:
                row: dict[str, object] = dict(message.attributes)
                if long:
                    row = {
                        "type": "message",
                        "attributes": row,
                        "payload": message.payload.decode(errors="replace"),
                        "stream": message.stream,
                        "position": str(message.position),
                        "published_at": message.published_at.isoformat(),
                        "attempt": message.attempt,
                    }
                await lines.print(row)
                printed += 1
                if printed == count:
                    break
    finally:
        await lines.flush()
        typer.echo(f"{printed:,} messages", err=True)


@app.command()
def check(
    directory: Annotated[Path, typer.Argument(help="The directory of a broker, or of one log.")],
) -> None:
    """Reads every block of logs and says what is damaged; changes nothing.

    \b
    Example:
      penstock stream check streams
    """
    from penstock.live.log.check import check_log

    logs = directory / "logs"
    places = sorted(logs.iterdir()) if logs.is_dir() else [directory]
    if not places:
        typer.echo(f"{directory} has no streams")
    is_sound = True
    for place in places:
        report = check_log(str(place))
        is_sound = is_sound and report.is_sound
        for line in report.lines():
            typer.echo(f"{place.name}: {line}")
    if not is_sound:
        raise typer.Exit(1)
