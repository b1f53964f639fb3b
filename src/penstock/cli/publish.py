"""`penstock publish`: messages from arguments or standard input into a network."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.inputs import decode_line, file_lines, read_message, stdin_is_piped
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.client import Node

app = new_app("Messages into a network.")

_CATCH_UP_S: Final = 0.01
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@app.command()
def publish(
    messages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE", help="JSON objects, or @FILE of lines; - or none for stdin."
        ),
    ] = None,
    broker: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the broker listens.")
    ] = "127.0.0.1:7400",
    payload: Annotated[str, typer.Option(help="Text that goes with every message.")] = "",
    rate: Annotated[
        float | None, typer.Option(metavar="N", help="At most so many messages a second.")
    ] = None,
    publisher: Annotated[
        int | None, typer.Option(min=0, help="Publish under this number, not a random one.")
    ] = None,
    network: Annotated[
        str, typer.Option(metavar="NAME", help="The network that the broker is of.")
    ] = "penstock",
    as_json: AsJson = False,
) -> None:
    """Publishes messages, one JSON object each. The network is best-effort: nobody confirms.

    Messages that cannot be read are reported on standard error and passed over;
    the exit code is then 2.

    \b
    Example:
      penstock publish '{"symbol": "IBM", "price": 101.5}'
      penstock publish --rate 100 < ticks.jsonl
    """
    if rate is not None and not rate > 0:
        raise UsageError("--rate must be above 0 messages a second: leave it out for no limit")
    if not messages and not stdin_is_piped():
        raise UsageError(
            "no messages: give JSON objects as arguments, or pipe them in, one on a line"
        )
    from penstock.live.agreement import Agreement
    from penstock.live.client import connect
    from penstock.live.run import run

    tally = _Tally(payload.encode(), rate)

    async def program() -> None:
        agreement = Agreement(name=network)
        async with connect(broker, publisher=publisher, agreement=agreement) as node:
            await tally.publish(node, messages or ["-"])

    run(program())
    if as_json:
        print_json({"sent": tally.sent, "bad": tally.bad})
    else:
        typer.echo(f"{tally.sent} sent", err=True)
    if tally.bad:
        raise typer.Exit(2)


class _Tally:
    """What was sent, and what could not be."""

    def __init__(self, payload: bytes, rate: float | None) -> None:
        self.sent = 0
        self.bad: list[object] = []
        self._payload = payload
        self._rate = rate

    async def publish(self, node: Node, arguments: list[str]) -> None:
        """Everything that the arguments name."""
        pace = _Pace(self._rate)
        async for label, given in _candidates(arguments):
            try:
                line = decode_line(given) if isinstance(given, bytes) else given.strip()
                message = read_message(line)
                await pace.wait()
                await node.publish(message.attributes, self._payload)
            except UsageError as error:
                typer.echo(f"penstock: {label}: {error}", err=True)
                self.bad.append({"where": label, "error": str(error)})
            else:
                self.sent += 1


class _Pace:
    """Spaces messages evenly; what a late timer costs is made good, a long wait is not."""

    def __init__(self, rate: float | None) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._next_s = 0.0

    async def wait(self) -> None:
        """Until the next may leave."""
        if self._gap_s:
            import asyncio

            now_s = asyncio.get_running_loop().time()
            if self._next_s > now_s:
                await asyncio.sleep(self._next_s - now_s)
            self._next_s = max(self._next_s, now_s - _CATCH_UP_S) + self._gap_s


async def _candidates(arguments: list[str]) -> AsyncIterator[tuple[str, str | bytes]]:
    """Each message as it was given, and what to call it in an error."""
    for number, argument in enumerate(arguments, start=1):
        if argument == "-":
            async for label, line in _stdin():
                yield label, line
        elif argument.startswith("@"):
            for n, line in file_lines(argument[1:]):
                yield f"{argument[1:]}: line {n}", line
        else:
            yield f"message {number}", argument


async def _stdin() -> AsyncIterator[tuple[str, bytes]]:
    from penstock.live.lines import lines

    if sys.stdin is None:
        raise UsageError("standard input is closed: give messages as arguments")
    number = 0
    async for line in lines(sys.stdin.fileno()):
        number += 1
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)  # noqa: PLW2901
        if line.strip():
            yield f"line {number}", line
