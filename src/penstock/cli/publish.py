"""`penstock publish`: publishes messages from arguments, files or standard input."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from penstock.cli import new_app
from penstock.cli.inputs import decode_line, read_message, stdin_is_piped
from penstock.cli.node_options import (
    BROKER,
    NETWORK,
    TIMEOUT_S,
    BrokerOption,
    ControlOption,
    NetworkOption,
    ScopeOption,
    TimeoutOption,
    congestion_of,
    connected,
    recovery_of,
)
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.content.message import Message
    from penstock.live.node.node import Node

# A message with its label, or a source of messages: "-" or "@FILE".
MessageInput: TypeAlias = "str | tuple[str, Message]"

app = new_app("Messages into a network.")

# Copies of values in wire.limits and RecordSettings, so that --help need not import them.
_PUBLISHER_MAX: Final = 2**64 - 1
_RECORD_MAX: Final = 255
_RECORD_ENTRIES: Final = 10
_CATCH_UP_S: Final = 0.01
# Most losses are requested and repaired within a few tenths of a second.
_LINGER_S: Final = 2.0
# How often slowed-down flows are reported, and how many of them.
_REPORT_INTERVAL_S: Final = 5.0
_FLOWS_SHOWN_MAX: Final = 5
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
    ] = _RECORD_ENTRIES,
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
    control: ControlOption = False,
    scope: ScopeOption = None,
    linger: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="Stay so long after the last message, for who lost any; Ctrl-C ends it at once.",
            show_default="2 with --recover, else 0",
        ),
    ] = None,
    timeout: TimeoutOption = TIMEOUT_S,
    network: NetworkOption = NETWORK,
    as_json: AsJson = False,
) -> None:
    """Publishes messages, one JSON object each. The network is best-effort: nobody confirms.

    Messages that cannot be read are reported on standard error and passed over;
    the exit code is then 2, and 1 if messages still waited for their turn (--control) when
    it was stopped. Those given as arguments are looked at before all else.

    \b
    Example:
      penstock publish '{"symbol": "IBM", "price": 101.5}'
      penstock publish --rate 100 --numbers price < ticks.jsonl
      penstock publish --recover --linger 10 --control @ticks.jsonl
    """
    if rate is not None and not rate > 0:
        raise UsageError(
            f"--rate must be above 0 messages a second, not {rate:g}: leave it out for no limit"
        )
    if not messages and not stdin_is_piped():
        raise UsageError(
            "no messages: give JSON objects as arguments, or pipe them in, one on a line"
        )
    linger_s = _linger_s(linger, recover)
    import asyncio

    from penstock.cli.run_until_stopped import run
    from penstock.transport.settings import RecordSettings

    recovery = recovery_of(recover, scope)
    tally = _Tally(payload.encode(), rate)
    inputs = tally.read(messages or ["-"])

    async def program() -> None:
        async with connected(
            broker,
            network=network,
            timeout=timeout,
            publisher=publisher,
            record=RecordSettings(size=record, numbers=tuple(numbers or ())),
            recovery=recovery,
            congestion=congestion_of(control),
        ) as node:
            reporting = asyncio.create_task(_report_flows(node))
            try:
                await tally.publish(node, inputs)
                await node.drain()
                if tally.sent:
                    await _stay(linger_s)
            finally:
                reporting.cancel()
                tally.finish(node)

    if inputs:
        run(program())
    if as_json:
        print_json(tally.as_json())
    else:
        typer.echo(tally.summary(), err=True)
    if tally.rejected:
        raise typer.Exit(2)
    if tally.unsent:
        raise typer.Exit(1)


def _linger_s(given: float | None, recover: bool) -> float:
    """The linger time in seconds; without recovery 0, because nobody sends requests."""
    if given is None:
        return _LINGER_S if recover else 0.0
    if not isfinite(given):
        raise UsageError(f"--linger is a number of seconds, not {given:g}")
    if given and not recover:
        raise UsageError("--linger is for who lost a message: add --recover, or leave it out")
    return given


async def _stay(linger_s: float) -> None:
    """Waits while the node repairs losses of the last messages."""
    import asyncio

    await asyncio.sleep(linger_s)


async def _report_flows(node: Node) -> None:
    """Reports flows with queued messages, every five seconds."""
    import asyncio

    while True:
        await asyncio.sleep(_REPORT_INTERVAL_S)
        waiting = sorted(
            [flow for flow in node.flows if flow.queued], key=lambda flow: -flow.queued
        )
        for flow in waiting[:_FLOWS_SHOWN_MAX]:
            typer.echo(f"{flow.queued} wait: {flow.quota_mps:.3g}/s of {flow.flow}", err=True)
        if len(waiting) > _FLOWS_SHOWN_MAX:
            typer.echo(f"and {len(waiting) - _FLOWS_SHOWN_MAX} more flows", err=True)


class _Tally:
    """Publishes the input, and counts messages sent, sent while silent, unsent and rejected."""

    def __init__(self, payload: bytes, rate: float | None) -> None:
        self.sent = 0
        self.sent_while_silent = 0
        # Messages still in the send queue at the end.
        self.unsent = 0
        self.rejected: list[object] = []
        self._payload = payload
        self._rate = rate

    def read(self, arguments: Sequence[str]) -> list[MessageInput]:
        """Parses the arguments; rejects messages that cannot be read, checks that files exist."""
        inputs: list[MessageInput] = []
        for position, argument in enumerate(arguments, start=1):
            label = f"message {position}"
            if argument == "-":
                inputs.append(argument)
            elif argument.startswith("@"):
                _check_exists(argument[1:])
                inputs.append(argument)
            else:
                try:
                    inputs.append((label, read_message(argument.strip())))
                except UsageError as error:
                    self._reject(label, error)
        return inputs

    async def publish(self, node: Node, inputs: Sequence[MessageInput]) -> None:
        """Publishes all messages, those of files and standard input included."""
        pace = _Pace(self._rate)
        for source in inputs:
            if isinstance(source, tuple):
                await self._send(node, pace, *source)
                continue
            try:
                async for label, line in _lines(source):
                    await self._send(node, pace, label, line)
            except OSError as error:
                where = "standard input" if source == "-" else repr(source[1:])
                self._reject(source, UsageError(f"cannot read {where}: {error.strerror or error}"))

    async def _send(self, node: Node, pace: _Pace, label: str, item: Message | bytes) -> None:
        try:
            message = read_message(decode_line(item)) if isinstance(item, bytes) else item
            await pace.wait()
            await node.publish(message.attributes, self._payload)
        except UsageError as error:
            self._reject(label, error)
        else:
            self.sent += 1

    def finish(self, node: Node) -> None:
        """Takes the final counts from the node, after which nothing is sent."""
        counters = node.counters
        self.sent_while_silent = counters["node"]["unanswered"]
        self.unsent = counters["queue"]["waiting"]
        # Includes a message accepted just when the program was stopped.
        self.sent = counters["node"]["published"] - self.unsent

    def summary(self) -> str:
        """The counts as text, as in '1200 sent, 3 while nobody answered'."""
        parts = [f"{self.sent} sent"]
        if self.sent_while_silent:
            parts.append(f"{self.sent_while_silent} while nobody answered")
        if self.unsent:
            parts.append(f"{self.unsent} not, for they still waited for their turn")
        return ", ".join(parts)

    def as_json(self) -> dict[str, object]:
        """The counts and the rejected messages, for --json."""
        return {
            "sent": self.sent,
            "unanswered": self.sent_while_silent,
            "unsent": self.unsent,
            "bad": self.rejected,
        }

    def _reject(self, label: str, error: UsageError) -> None:
        typer.echo(f"penstock: {label}: {error}", err=True)
        self.rejected.append({"where": label, "error": str(error)})


class _Pace:
    """Spaces messages evenly; catches up at most 10 ms, so a long wait causes no burst."""

    def __init__(self, rate: float | None) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._next_s = 0.0

    async def wait(self) -> None:
        """Waits until the next message may be sent."""
        if self._gap_s:
            import asyncio

            now_s = asyncio.get_running_loop().time()
            if self._next_s > now_s:
                await asyncio.sleep(self._next_s - now_s)
            self._next_s = max(self._next_s, now_s - _CATCH_UP_S) + self._gap_s


def _check_exists(path: str) -> None:
    """Checks a file without opening it: a pipe opened twice may be empty the second time."""
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path!r}: {why}") from None


async def _lines(source: str) -> AsyncIterator[tuple[str, bytes]]:
    """Yields each non-blank line with its label for error messages."""
    from penstock.cli.line_io import lines, lines_of

    if source == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed: give messages as arguments")
        found, where = lines(sys.stdin.fileno()), ""
    else:
        found, where = lines_of(source[1:]), f"{source[1:]}: "
    line_number = 0
    async for line in found:
        line_number += 1
        if line_number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)  # noqa: PLW2901
        if line.strip():
            yield f"{where}line {line_number}", line
