"""`penstock stream subscribe`: prints messages of a stream, in order and once."""

from __future__ import annotations

from base64 import b64encode
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    connected,
    errors_for_a_shell,
)
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.api.loss import Loss
    from penstock.api.stream_message import StreamMessage
    from penstock.live.guaranteed.node import StreamNode
    from penstock.live.guaranteed.subscription import StreamSubscription

_WINDOW: Final = 1_000


class Ack(StrEnum):
    """When a message counts as read."""

    NEXT = "next"
    MANUAL = "manual"


class OnGap(StrEnum):
    """What happens where messages are gone."""

    RAISE = "raise"
    CONTINUE = "continue"


class Poison(StrEnum):
    """What happens to a message that fails again and again."""

    STOP = "stop"
    PARK = "park"


def subscribe(
    stream: Annotated[str, typer.Argument(help="The name of a stream.")],
    filter: Annotated[
        str, typer.Argument(help="What to read, such as 'qty >= 100'; @FILE for a file.")
    ] = "true",
    durable: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A name that is remembered, with how far it has read."),
    ] = None,
    start: Annotated[
        str, typer.Option(help="Where a new name begins: first, now, -30s, a time, a position.")
    ] = "now",
    ack: Annotated[
        Ack,
        typer.Option(help="A message counts as read when it is printed; manual: it never does."),
    ] = Ack.NEXT,
    on_gap: Annotated[
        OnGap,
        typer.Option(help="Where messages are gone: end with exit code 1, or go on behind them."),
    ] = OnGap.RAISE,
    attempts: Annotated[
        int, typer.Option(min=1, help="How often a message is tried before --poison applies.")
    ] = 5,
    poison: Annotated[
        Poison, typer.Option(help="After that: end with exit code 1, or put the message aside.")
    ] = Poison.STOP,
    expire: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Forget the name when it is unread for so long.",
            show_default="never",
        ),
    ] = None,
    change_filter: Annotated[
        bool, typer.Option("--change-filter", help="Read on under another filter.")
    ] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="End whoever reads under this name.")
    ] = False,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many messages.")] = None,
    long: Annotated[bool, typer.Option("--long", help="All fields, not only attributes.")] = False,
    losses: Annotated[
        bool, typer.Option("--losses", help="Print a line where messages are gone, too.")
    ] = False,
    fail_on_loss: Annotated[
        bool,
        typer.Option("--fail-on-loss", help="End with exit code 1 if any were gone."),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Who reads, as 'durables' shows it.", show_default="drawn")
    ] = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: Annotated[
        bool, typer.Option("--json", help="As --long: one object a line, with a type.")
    ] = False,
) -> None:
    """Prints what the filter matches, one JSON object a line, until it is stopped.

    Messages are printed in their order and once. With --durable it goes on where it was.

    \b
    Example:
      penstock stream subscribe orders 'qty >= 100' --durable billing --start first
      penstock stream subscribe orders --long --count 1
    """
    from penstock.cli.inputs import read_argument
    from penstock.cli.run_until_stopped import run
    from penstock.cli.stream.opening import opened_in_time
    from penstock.wire.frames.guaranteed.base import check_stream_name

    check_stream_name(stream)
    if durable is None:
        _refuse_without_durable(
            {
                "--expire": expire is not None,
                "--change-filter": change_filter,
                "--takeover": takeover,
                "--poison": poison is not Poison.STOP,
                "--ack": ack is not Ack.NEXT,
            }
        )
    options: dict[str, Any] = {
        "durable": durable,
        "start": start,
        "ack": ack.value,
        "window": min(_WINDOW, count or _WINDOW),
        "change_filter": change_filter,
        "takeover": takeover,
        "expire": expire,
        "attempts": attempts,
        "poison": poison.value,
    }
    printer = _Printer(
        count,
        is_long=long or losses or as_json,
        prints_losses=losses,
        goes_on=on_gap is OnGap.CONTINUE,
    )
    wanted = read_argument(filter)

    async def program() -> None:
        async with connected(broker, timeout=timeout, name=name) as node:
            opening = node.stream(stream).subscribe(wanted, **options)
            async with opened_in_time(opening, node, stream, timeout=timeout) as inbox:
                await read(node, inbox)

    async def read(node: StreamNode, inbox: StreamSubscription) -> None:
        # Tells scripts that publishing may start; standard output is for messages only.
        went_on = f", from where {durable} was" if inbox.resumed else ""
        typer.echo(f"reads {stream} at {node.address}{went_on}", err=True)
        printer.has_begun = True
        await printer.follow(inbox)

    try:
        with errors_for_a_shell():
            run(program())
    finally:
        if printer.has_begun:
            typer.echo(printer.summary(), err=True)
    if fail_on_loss and printer.lost:
        raise typer.Exit(1)


def _refuse_without_durable(given: dict[str, bool]) -> None:
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option} is about a durable name: add --durable NAME")


class _Printer:
    """Prints up to `count` messages."""

    def __init__(
        self, count: int | None, *, is_long: bool, prints_losses: bool, goes_on: bool
    ) -> None:
        self.has_begun = False
        self.printed = 0
        self.lost = 0
        self._count: Final = count
        self._is_long: Final = is_long
        self._prints_losses: Final = prints_losses
        self._goes_on: Final = goes_on

    async def follow(self, inbox: StreamSubscription) -> None:
        """Prints until it has enough or is stopped; then what was printed counts as read."""
        import asyncio

        from penstock.cli.output import JsonLines

        lines = JsonLines()
        try:
            await self._print(inbox, lines)
        except asyncio.CancelledError:
            # The subscription is left in peace, which acknowledges the last message; so it has to
            # be printed whole.
            await lines.flush()
        else:
            await lines.flush()

    async def _print(self, inbox: StreamSubscription, lines: Any) -> None:
        from penstock.api.errors import GapError

        while True:
            try:
                message = await anext(inbox)
            except StopAsyncIteration:
                return
            except GapError as gap:
                self.lost += gap.loss.count
                if self._prints_losses:
                    await lines.print(_loss_json(gap.loss))
                if not self._goes_on:
                    raise
                continue
            row = _message_json(message) if self._is_long else _attributes(message)
            self.printed += 1
            await lines.print(row)
            if self.printed == self._count:
                return

    def summary(self) -> str:
        """What it did and lost."""
        from penstock.cli.stream.texts import some

        lost = f", at most {self.lost:,} are gone" if self.lost else ""
        return f"{some(self.printed, 'message')}{lost}"


def _message_json(message: StreamMessage) -> dict[str, object]:
    from penstock.cli.stream.texts import instant

    return {
        "type": "message",
        "attributes": _attributes(message),
        "payload": b64encode(message.payload).decode(),
        "stream": message.stream,
        "position": str(message.position),
        "published_at": instant(message.published_ns),
        "attempt": message.attempt,
    }


def _loss_json(loss: Loss) -> dict[str, object]:
    return {
        "type": "loss",
        "stream": loss.stream,
        "messages_max": loss.count,
        "fate": loss.fate.value,
        "reason": loss.reason,
    }


def _attributes(message: StreamMessage) -> dict[str, object]:
    """The attributes; non-finite numbers, which JSON lacks, become null."""
    from penstock.content.value import is_finite

    return {name: value if is_finite(value) else None for name, value in message.attributes.items()}
