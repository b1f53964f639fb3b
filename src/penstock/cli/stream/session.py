"""What the commands of streams share: options, the connection, and what errors mean to a shell."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import typer

from penstock.cli.output import print_json
from penstock.kernel.errors import PenstockError, RefusedError, UnreachableError

if TYPE_CHECKING:
    from penstock.live.guaranteed.node import StreamNode

Result = TypeVar("Result")

# A copy, so that --help need not import it.
_BROKER: Final = "tcp://127.0.0.1:7451"
TIMEOUT: Final = "5s"

# What errors tell programs to write, and what it is in a shell.
_OPTIONS: Final = {
    "pass takeover=True": "add --takeover",
    "pass change_filter=True": "add --change-filter",
    "pass poison='park'": "add --poison park",
    "pass checkpoint=error.message.checkpoint": "use 'penstock stream seek'",
    'or poison="park"': "or add --poison park",
    "raise attempts": "raise --attempts",
    "iterate again to go on": "add --on-gap continue to go on behind them",
}
_FULL_STREAM: Final = re.compile(r"(stream '([^']*)' is full.*)raise retention\.size")

BrokerOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--broker",
        metavar="ADDRESS",
        help="Where to connect; repeated: the first that answers.",
        show_default=f"$PENSTOCK_STREAMS, else {_BROKER}",
    ),
]
TimeoutOption: TypeAlias = Annotated[
    str, typer.Option(metavar="DURATION", help="How long to wait for an answer.")
]
# Options and arguments that say what a command is about.
_SUBJECTS: Final = ("stream", "durable", "host", "directory")

YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@asynccontextmanager
async def connected(
    brokers: list[str] | None, *, timeout: str, name: str | None = None
) -> AsyncIterator[StreamNode]:
    """Connects to the first broker that answers."""
    from penstock.streams import connect

    async with connect(brokers or None, name=name, timeout=timeout) as node:
        yield node


async def ask(node: StreamNode, verb: str, arguments: Mapping[str, Any], *, timeout: str) -> Any:
    """Asks a broker, and waits for the answer no longer than that."""
    import asyncio

    from penstock.api.units import duration_ns

    try:
        async with asyncio.timeout(duration_ns("--timeout", timeout) / 1e9):
            return await node.request(verb, arguments)
    except TimeoutError:
        raise UnreachableError(
            f"broker {node.address} does not answer within {timeout}: look at its log"
        ) from None


async def ask_all(node: StreamNode, verb: str, what: str, *, timeout: str) -> list[dict[str, Any]]:
    """All rows of an answer that comes in pages."""
    rows: list[dict[str, Any]] = []
    while True:
        after = rows[-1]["name"] if rows else ""
        page = await ask(node, verb, {"after": after}, timeout=timeout)
        rows += page[what]
        if not page["more"] or not page[what]:
            return rows


def run_once(
    brokers: list[str] | None,
    timeout: str,
    program: Callable[[StreamNode], Coroutine[object, object, Result]],
) -> Result:
    """Connects, runs a program that ends by itself, and closes."""
    import asyncio

    async def main() -> Result:
        async with connected(brokers, timeout=timeout) as node:
            return await program(node)

    with errors_for_a_shell():
        return asyncio.run(main())


def ask_once(
    brokers: list[str] | None, timeout: str, verb: str, arguments: Mapping[str, Any]
) -> Any:
    """Connects, asks, and closes."""
    return run_once(brokers, timeout, lambda node: ask(node, verb, arguments, timeout=timeout))


def answers_in_json(command: Callable[..., None]) -> Callable[..., None]:
    """With --json, a command that fails prints one object as well: about what, and why it failed.

    Of one that prints an object a line the exit code says enough.
    """

    @wraps(command)
    def answering(**options: Any) -> None:
        try:
            command(**options)
        except PenstockError as error:
            if options["as_json"] and not options.get("watch"):
                about: dict[str, object] = {
                    name: str(options[name]) for name in _SUBJECTS if name in options
                }
                reason = getattr(error, "reason", None)
                print_json({**about, "error": str(error), "reason": reason})
            raise

    return answering


@contextmanager
def errors_for_a_shell() -> Iterator[None]:
    """Gives the errors of streams the exit codes of all commands.

    What a broker refuses, or nobody has confirmed, may be tried again: 4. A gap, or a message that
    fails again and again, is what a reader was to be told of: 1.
    """
    from penstock.api.errors import DurableError, GapError, NotConfirmedError, PoisonError

    try:
        yield
    except (DurableError, RefusedError) as error:
        raise RefusedError(with_options(str(error)), error.reason) from None
    except NotConfirmedError as error:
        raise UnreachableError(str(error)) from None
    except (GapError, PoisonError) as error:
        typer.echo(f"penstock: {with_options(str(error))}", err=True)
        raise typer.Exit(1) from None


def with_options(text: str) -> str:
    """What programs write, as the options of commands."""
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return _FULL_STREAM.sub(
        r"\1write 'penstock stream create \2 --retention-size SIZE --change'", text
    )


def confirm(question: str, *, yes: bool) -> None:
    """Asks on a terminal; no ends the command with exit code 1."""
    if yes or not _stdin_is_terminal():
        return
    if not typer.confirm(question, err=True):
        typer.echo("nothing was changed", err=True)
        raise typer.Exit(1)


def _stdin_is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
