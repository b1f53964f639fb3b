"""`penstock subscribe`: prints messages that match a filter, one per line."""

from __future__ import annotations

import signal
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterable, Mapping
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.inputs import read_filter
from penstock.cli.node_options import (
    BROKER,
    NETWORK,
    TIMEOUT_S,
    BrokerOption,
    ControlOption,
    NetworkOption,
    RecoverOption,
    ScopeOption,
    TimeoutOption,
    congestion_of,
    connected,
    recovery_of,
)
from penstock.cli.output import JsonLines
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.node.subscription import Received, Subscription
    from penstock.trace.fates import ReceiverFate
    from penstock.transport.facts import Absence

app = new_app("Messages from a network.")

_MAX_DELAY_S: Final = 2.0
_MS_NS: Final = 1_000_000
# The shell's exit code for a program whose reader closed the pipe.
_EXIT_BROKEN_PIPE: Final = 128 + signal.SIGPIPE
# At the end, a slow reader has this long to take the remaining lines.
_FLUSH_TIMEOUT_S: Final = 5.0


class Late(StrEnum):
    """What to do with a message whose successors were delivered already."""

    DELIVER = "deliver"
    DROP = "drop"


@app.command()
def subscribe(
    text: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, its JSON form, or @FILE.")
    ],
    broker: BrokerOption = BROKER,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="End after so many messages.", show_default="no end"),
    ] = None,
    max_delay: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=_MAX_DELAY_S,
            help="The longest wait for a message that is overtaken.",
            show_default="2",
        ),
    ] = None,
    violation_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="The share of overtaken messages that may come too late; above 0.",
            show_default="0.003",
        ),
    ] = None,
    late: Annotated[
        Late | None,
        typer.Option(help="What to do with a message that comes too late.", show_default="deliver"),
    ] = None,
    cautious: Annotated[
        bool,
        typer.Option("--cautious", help="Wait also for what records are too short to tell of."),
    ] = False,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Print what arrives as it arrives.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Print publisher, epoch, number, fate, waited_ms and payload (base64) too.",
        ),
    ] = False,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing",
            help="As --full, with a line for each message that was missing, when it has come"
            " (its resolution says how) or is given up: after 10 s, or with"
            " --recover after 30 s, or sooner if nobody has it.",
        ),
    ] = False,
    recover: RecoverOption = False,
    control: ControlOption = False,
    scope: ScopeOption = None,
    timeout: TimeoutOption = TIMEOUT_S,
    network: NetworkOption = NETWORK,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    """Prints matching messages, one JSON object a line, each publisher's in order.

    Ends by Ctrl-C or SIGTERM, or after --count messages. The lines are what
    'penstock publish' reads, unless --full or --missing is given.

    \b
    Example:
      penstock subscribe 'symbol = "IBM" and price < 120'
      penstock subscribe 'exists price' --full --count 10 --max-delay 0.2
      penstock subscribe 'symbol = "IBM"' --recover --control
    """
    if as_json:
        raise UsageError("subscribe prints JSON as it is, an object a line: leave --json out")
    if unordered:
        _refuse_with_unordered(
            {
                "--max-delay": max_delay is not None,
                "--violation-probability": violation_probability is not None,
                "--late": late is not None,
                "--cautious": cautious,
                "--missing": missing,
                "--recover": recover,
                "--control": control,
            }
        )
    from penstock.cli.run_until_stopped import run
    from penstock.live.node.subscription_options import ordering_of
    from penstock.transport.settings import OrderingSettings

    predicate = read_filter(text)
    recovery = recovery_of(recover, scope)
    ordering = ordering_of(
        OrderingSettings(is_cautious=cautious),
        order=not unordered,
        max_delay=max_delay,
        violation_probability=violation_probability,
        late=None if late is None else late.value,
    )
    printer = SubscriptionPrinter(count, is_full=full or missing, is_ordered=not unordered)

    async def program() -> None:
        async with (
            connected(
                broker,
                network=network,
                timeout=timeout,
                recovery=recovery,
                congestion=congestion_of(control),
            ) as node,
            node.subscribe(predicate, ordering=ordering) as subscription,
        ):
            # Tells scripts that publishing may start; standard output is for messages only.
            typer.echo(f"subscribed at {broker}", err=True)
            await printer.follow(subscription, prints_missing=missing)

    # The summary must be printed even if the reader of standard output closes the pipe.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    code = 0
    try:
        run(program())
    except BrokenPipeError:
        code = _EXIT_BROKEN_PIPE
    typer.echo(printer.summary(), err=True)
    if code:
        raise typer.Exit(code)


def _refuse_with_unordered(given: Mapping[str, bool]) -> None:
    """Refuses options that need ordering: without it nothing waits, is late or is missing."""
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"--unordered has no use for {option}: leave one out")


class SubscriptionPrinter:
    """Prints up to `count` messages, and a summary at the end."""

    def __init__(self, count: int | None, *, is_full: bool, is_ordered: bool) -> None:
        self._remaining: float = inf if count is None else count
        self._is_full: Final = is_full
        self._is_ordered: Final = is_ordered
        self._printed: Final[Counter[str]] = Counter()
        self._counters: Mapping[str, int] = Counter()
        # The fate of the message being printed, and the number left unprinted at the end.
        self._printing: ReceiverFate | None = None
        self._unprinted = 0

    async def follow(self, subscription: Subscription, *, prints_missing: bool) -> None:
        """Prints until `count` is reached or it is cancelled; then prints what was buffered."""
        import asyncio

        lines = JsonLines()
        printing = None
        if prints_missing:
            printing = asyncio.create_task(_print_missing(subscription.missing, lines))
        try:
            await self._print(subscription, lines)
        finally:
            subscription.end()
            try:
                async with asyncio.timeout(_FLUSH_TIMEOUT_S):
                    await lines.flush()
                    self._count_printed()
                    await self._print(subscription, lines)
                    if printing is not None:
                        await printing
            except (TimeoutError, BrokenPipeError):
                pass
            finally:
                unprinted = len(aiter(subscription)) if self._remaining else 0
                self._unprinted = unprinted + (self._printing is not None)
                self._counters = subscription.counters

    def summary(self) -> str:
        """The counts as text, as in '1200 delivered, 3 late, 8 lost'."""
        late, repaired = self._printed["delivered_late"], self._printed["repaired"]
        parts = [f"{self._printed.total() - late} delivered"]
        if repaired:
            parts[0] += f" ({repaired} repaired)"
        if self._is_ordered:
            parts += [f"{late} late", f"{self._counters['given_up']} lost"]
        if unseen := self._counters["unseen"]:
            parts.append(f"{unseen} lost of which nothing else is known")
        if dropped := self._counters["dropped_late"]:
            parts.append(f"{dropped} dropped because they were late")
        if overflow := self._counters["overflow"]:
            parts.append(f"{overflow} dropped because they came faster than they were printed")
        if self._unprinted:
            parts.append(f"{self._unprinted} not printed because nobody read them")
        return ", ".join(parts)

    async def _print(self, subscription: Subscription, lines: JsonLines) -> None:
        if not self._remaining:
            return
        async for message in subscription:
            self._printing = message.fate
            self._remaining -= 1
            await lines.print(_full_record(message) if self._is_full else _attributes(message))
            self._count_printed()
            if not self._remaining:
                return

    def _count_printed(self) -> None:
        """Counts the message just printed, also one whose printing was cancelled and flushed."""
        if self._printing is not None:
            self._printed[self._printing] += 1
            self._printing = None


async def _print_missing(missing_messages: AsyncIterable[Absence], lines: JsonLines) -> None:
    async for missing in missing_messages:
        await lines.print(
            {
                "publisher": str(missing.id.pub),
                "epoch": missing.id.epoch,
                "number": missing.id.seq,
                "resolution": missing.resolution.value,
                "missing_ms": (missing.ended_ns - missing.detected_ns) / _MS_NS,
            }
        )


def _full_record(message: Received) -> dict[str, object]:
    return {
        # As text, because many JSON readers lack 64-bit integers.
        "publisher": str(message.publisher),
        "epoch": message.epoch,
        "number": message.number,
        "fate": message.fate.value,
        "waited_ms": message.waited_ns / _MS_NS,
        "attributes": _attributes(message),
        "payload": b64encode(message.payload).decode(),
    }


def _attributes(message: Received) -> dict[str, object]:
    """The attributes; non-finite numbers, which JSON lacks, become null."""
    from penstock.content.value import is_finite

    return {name: value if is_finite(value) else None for name, value in message.attributes.items()}
