"""`penstock publish`: messages from arguments or standard input into a network."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.connection import (
    BROKER,
    NETWORK,
    TIMEOUT_S,
    BrokerOption,
    NetworkOption,
    TimeoutOption,
    connected,
    recovery_of,
)
from penstock.cli.inputs import decode_line, file_lines, read_message, stdin_is_piped
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.client import Node

app = new_app("Messages into a network.")

# Those of wire.limits and RecordSettings, which the help need not load.
_PUBLISHER_MAX: Final = 2**64 - 1
_RECORD_MAX: Final = 255
_RECORD: Final = 10
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
    broker: BrokerOption = BROKER,
    payload: Annotated[str, typer.Option(help="Text that goes with every message.")] = "",
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="At most so many messages a second.", show_default="no limit"
        ),
    ] = None,
    publisher: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_PUBLISHER_MAX,
            help="Publish under this number. Processes that share one must run one after another,"
            " and start more than a second apart: messages of the second are lost otherwise.",
            show_default="random",
        ),
    ] = None,
    record: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=_RECORD_MAX,
            help="Each message describes so many before it, so that a loss is noticed.",
        ),
    ] = _RECORD,
    numbers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An attribute whose numbers are described too, so that losses are noticed by"
            " who asked for a range of it; once for each.",
        ),
    ] = None,
    recover: Annotated[
        bool,
        typer.Option(
            "--recover", help="Send again what subscribers lost, while this command runs."
        ),
    ] = False,
    timeout: TimeoutOption = TIMEOUT_S,
    network: NetworkOption = NETWORK,
    as_json: AsJson = False,
) -> None:
    """Publishes messages, one JSON object each. The network is best-effort: nobody confirms.

    Messages that cannot be read are reported on standard error and passed over;
    the exit code is then 2.

    \b
    Example:
      penstock publish '{"symbol": "IBM", "price": 101.5}'
      penstock publish --rate 100 --numbers price < ticks.jsonl
    """
    if rate is not None and not rate > 0:
        raise UsageError(
            f"--rate must be above 0 messages a second, not {rate:g}: leave it out for no limit"
        )
    if not messages and not stdin_is_piped():
        raise UsageError(
            "no messages: give JSON objects as arguments, or pipe them in, one on a line"
        )
    from penstock.live.run import run
    from penstock.transport.settings import RecordSettings

    tally = _Tally(payload.encode(), rate)

    async def program() -> None:
        async with connected(
            broker,
            network=network,
            timeout=timeout,
            publisher=publisher,
            record=RecordSettings(size=record, numbers=tuple(numbers or ())),
            recovery=recovery_of(recover),
        ) as node:
            try:
                await tally.publish(node, messages or ["-"])
            finally:
                tally.unanswered = node.counters["node"]["unanswered"]

    run(program())
    if as_json:
        print_json({"sent": tally.sent, "unanswered": tally.unanswered, "bad": tally.bad})
    else:
        unanswered = f", {tally.unanswered} while nobody answered" if tally.unanswered else ""
        typer.echo(f"{tally.sent} sent{unanswered}", err=True)
    if tally.bad:
        raise typer.Exit(2)


class _Tally:
    """What was sent, what of it nobody may have heard, and what could not be sent."""

    def __init__(self, payload: bytes, rate: float | None) -> None:
        self.sent = 0
        self.unanswered = 0
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
