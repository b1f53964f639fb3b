"""`penstock stream publish`: stores messages from arguments, files or standard input."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from penstock.cli.inputs import decode_line, read_message, stdin_is_piped
from penstock.cli.output import AsJson, print_json
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    connected,
    errors_for_a_shell,
    with_options,
)
from penstock.kernel.errors import PenstockError, RefusedError, UsageError

if TYPE_CHECKING:
    from penstock.content.message import Message
    from penstock.live.guaranteed.pending import Pending
    from penstock.live.guaranteed.stream import Stream

# Where a message comes from, for errors; and the message, or its line.
Labelled: TypeAlias = "tuple[str, Message | bytes]"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_INTERRUPTED: Final = 130
# How long confirmations are waited for when it is stopped.
_DRAIN_S: Final = 5.0


def publish(
    stream: Annotated[str, typer.Argument(help="The name of a stream.")],
    messages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE", help="JSON objects, or @FILE of lines; - or none for stdin."
        ),
    ] = None,
    payload: Annotated[
        str, typer.Option(metavar="TEXT|@FILE", help="What goes with every message.")
    ] = "",
    create: Annotated[
        bool, typer.Option("--create", help="Create the stream if it is not there.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(help="The publisher's name.", show_default="drawn"),
    ] = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Publishes messages; ends when all of them are on disk.

    Lines that cannot be read are reported and passed over; the exit code is then 2. If the
    broker refuses a message, reading ends there, and the exit code is 4.

    \b
    Example:
      penstock stream publish orders '{"symbol": "IBM", "qty": 100}' --create
      penstock stream publish orders @orders.jsonl --name importer
      tail -F orders.jsonl | penstock stream publish orders
    """
    from penstock.cli.run_until_stopped import run
    from penstock.wire.frames.guaranteed.base import check_stream_name

    publishing = _Publishing()

    async def program(sources: list[str | Labelled], payload: bytes) -> None:
        async with connected(broker, timeout=timeout, name=name) as node:
            await publishing.publish(node.stream(stream, create=create), sources, payload)

    try:
        # What is wrong in an argument is said before anything is sent.
        check_stream_name(stream)
        if not messages and not stdin_is_piped():
            raise UsageError(
                "no messages: give JSON objects as arguments, or pipe them in, one on a line"
            )
        sources = publishing.read_sources(messages or ["-"])
        with errors_for_a_shell():
            run(program(sources, _read_payload(payload)))
        publishing.raise_if_unfinished()
    except PenstockError as error:
        publishing.error = str(error)
        raise
    finally:
        if as_json:
            print_json({"stream": stream, **publishing.as_json()})
        elif publishing.has_begun:
            typer.echo(publishing.summary(), err=True)


def _read_payload(given: str) -> bytes:
    if not given.startswith("@"):
        return given.encode()
    try:
        return Path(given[1:]).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {given[1:]!r}: {error.strerror or error}") from None


def _checked_place(text: str) -> str:
    """`-`, or a file that is there."""
    if text != "-":
        try:
            Path(text[1:]).stat()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {text[1:]!r}: {why}") from None
    return text


class _Publishing:
    """Sends messages as they are read, and counts what becomes of them."""

    def __init__(self) -> None:
        self.has_begun = False
        self.stored = 0
        self.duplicates = 0
        # What has ended the command.
        self.error: str | None = None
        self._sent = 0
        self._rejected: Final[list[object]] = []
        # Of these, messages that could be read, but are too large or have values that are none.
        self._unsent = 0
        self._first_position: str | None = None
        self._last_position: str | None = None
        # The first message that the broker has refused, and why.
        self._refused: tuple[str, RefusedError] | None = None
        self._refused_count = 0
        self._is_cut_short = False

    @property
    def _unconfirmed(self) -> int:
        return self._sent - self.stored - self._refused_count

    def read_sources(self, texts: list[str]) -> list[str | Labelled]:
        """Messages, and where messages are; raises what is wrong with the first bad one."""
        return [self._read_source(f"message {place}", text) for place, text in enumerate(texts, 1)]

    def _read_source(self, label: str, text: str) -> str | Labelled:
        if text == "-" or text.startswith("@"):
            return _checked_place(text)
        try:
            return label, read_message(text)
        except UsageError as error:
            self._rejected.append({"where": label, "error": str(error)})
            raise UsageError(f"{label}: {error}") from None

    async def publish(self, into: Stream, sources: list[str | Labelled], payload: bytes) -> None:
        """Sends all; returns when each is confirmed or refused."""
        import asyncio

        from penstock.cli.progress import progress_of

        self.has_begun = True
        queue: asyncio.Queue[tuple[str, Pending] | None] = asyncio.Queue()
        reading = asyncio.create_task(self._send_all(into, sources, payload, queue))
        confirming = asyncio.create_task(self._confirm(queue, on_refused=reading.cancel))
        is_stopped = False
        try:
            with progress_of(lambda: self.stored):
                await asyncio.wait([reading])
        except asyncio.CancelledError:
            # Standard input may have no end: that it is cut short there is no failure.
            self._is_cut_short = sources[-1:] != ["-"]
            is_stopped = True
            reading.cancel()
            await asyncio.wait([reading])
        queue.put_nowait(None)
        try:
            async with asyncio.timeout(_DRAIN_S if is_stopped else None):
                await confirming
        except (TimeoutError, asyncio.CancelledError):
            pass
        if not reading.cancelled():
            reading.result()

    async def _send_all(
        self, into: Stream, sources: list[str | Labelled], payload: bytes, queue: Any
    ) -> None:
        for source in sources:
            async for label, item in _messages(source):
                try:
                    message = read_message(decode_line(item)) if isinstance(item, bytes) else item
                except UsageError as error:
                    self._reject(label, error)
                    continue
                try:
                    pending = await into.submit(message.attributes, payload)
                except UsageError as error:
                    self._unsent += 1
                    self._reject(label, error)
                else:
                    self._sent += 1
                    queue.put_nowait((label, pending))

    async def _confirm(self, queue: Any, *, on_refused: Any) -> None:
        from penstock.api.errors import NotConfirmedError

        while (item := await queue.get()) is not None:
            label, pending = item
            try:
                confirmation = await pending
            except RefusedError as error:
                self._refused_count += 1
                if self._refused is None:
                    self._refused = (label, error)
                    on_refused()
                continue
            except NotConfirmedError:
                # It may or may not be stored.
                continue
            self.stored += 1
            self.duplicates += confirmation.is_duplicate
            if confirmation.position is not None:
                self._last_position = str(confirmation.position)
                self._first_position = self._first_position or self._last_position

    def _reject(self, label: str, error: UsageError) -> None:
        typer.echo(f"penstock: {label}: {error}", err=True)
        self._rejected.append({"where": label, "error": str(error)})

    def summary(self) -> str:
        """What is on disk, and what is not."""
        from penstock.cli.stream.texts import some

        parts = [f"{some(self.stored, 'message')} {_be(self.stored)} on disk"]
        if self.duplicates:
            parts.append(f"{self.duplicates:,} of them {_were(self.duplicates)} before")
        unread = len(self._rejected) - self._unsent
        if unread:
            parts.append(f"{some(unread, 'line')} could not be read")
        if self._unsent:
            parts.append(f"{some(self._unsent, 'message')} {_were(self._unsent)} not sent")
        if self._refused_count:
            parts.append(f"{self._refused_count:,} {_were(self._refused_count)} refused")
        if self._unconfirmed:
            parts.append(f"{self._unconfirmed:,} may or may not be")
        return ", ".join(parts)

    def as_json(self) -> dict[str, object]:
        """For programs."""
        refused = self._refused
        return {
            "stored": self.stored,
            "duplicates": self.duplicates,
            "unconfirmed": self._unconfirmed,
            "first_position": self._first_position,
            "last_position": self._last_position,
            "bad": self._rejected,
            "refused": refused
            and {
                "messages": self._refused_count,
                "where": refused[0],
                "reason": refused[1].reason,
                "error": with_options(str(refused[1])),
            },
            "error": self.error,
        }

    def raise_if_unfinished(self) -> None:
        """The exit code of the command."""
        if self._refused is not None:
            label, error = self._refused
            raise RefusedError(f"{label}: {with_options(str(error))}", error.reason)
        if self._rejected:
            raise typer.Exit(2)
        if self._unconfirmed:
            raise typer.Exit(1)
        if self._is_cut_short:
            raise typer.Exit(_INTERRUPTED)


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


async def _messages(source: str | Labelled) -> AsyncIterator[Labelled]:
    """The message itself, or each line that is not blank, with its label."""
    from penstock.cli.line_io import lines, lines_of

    if isinstance(source, tuple):
        yield source
        return
    if source == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed: give messages as arguments")
        found, where = lines(sys.stdin.fileno()), ""
    else:
        found, where = lines_of(source[1:]), f"{source[1:]}: "
    number = 0
    async for line in found:
        number += 1
        text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        if text.strip():
            yield f"{where}line {number}", text
