"""The entry point: finds the command, and turns every error into one line and an exit code.

    0  success
    1  a check failed, or nothing matched
    2  usage error: the line says what to write instead
    3  internal error: the line says how to report it
    4  nobody answers, or a broker refused: a retry may help
  130  stopped by Ctrl-C

To add a command, write a module with an `app` (see `cli.new_app`) that has one or
more commands, and list it in `COMMANDS`.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer
import typer.core
import typer.main

from penstock import __version__
from penstock.kernel.errors import PenstockError, RefusedError, UnreachableError

COMMANDS: Final = {
    "filter": "penstock.cli.filter",
    "bench": "penstock.cli.bench",
    "demo": "penstock.cli.demo",
    "ticker": "penstock.cli.ticker",
    "lab": "penstock.cli.lab",
    "sweep": "penstock.cli.sweep",
    "pipeline": "penstock.cli.pipeline",
    "why": "penstock.cli.why",
    "effairness": "penstock.cli.effairness",
    "report": "penstock.cli.report",
    "broker": "penstock.cli.broker",
    "publish": "penstock.cli.publish",
    "subscribe": "penstock.cli.subscribe",
    "cache": "penstock.cli.cache",
    "stream": "penstock.cli.stream",
    "cast": "penstock.cli.cast",
}

_EXIT_USAGE_ERROR: Final = 2
_EXIT_INTERNAL_ERROR: Final = 3
_EXIT_UNANSWERED: Final = 4
_EXIT_INTERRUPTED: Final = 128 + signal.SIGINT


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, each imported on first access."""

    def __getitem__(self, name: str) -> Any:
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _built(name: str) -> Any:
    """Built once: from their types, options take longer than most commands run."""
    command = typer.main.get_command(import_module(COMMANDS[name]).app)
    command.name = name
    return command


class _Shell(typer.core.TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _LazyCommands()

    def invoke(self, ctx: Any) -> Any:
        """Invokes the command; on Ctrl-C, prints that it stopped."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _print_error("stopped")
            raise typer.Exit(_EXIT_INTERRUPTED) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Typer's `main`, with the exit codes and error lines of this module."""
        standalone = extra.pop("standalone_mode", True)
        extra["standalone_mode"] = False
        call = partial(super().main, *args, **extra)
        if not standalone:
            return call()
        sys.exit(_exit_code(call))


app = typer.Typer(
    cls=_Shell,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def shell(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Ordered, recovered, fairly shared message streams over best-effort publish/subscribe.

    \b
    Example:
      penstock filter match 'price < 120' '{"price": 101.5}'
    """
    if version:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run() -> None:
    """Runs the `penstock` command."""
    # End silently, as other tools do, when the reader of a pipe closes it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Characters that the terminal cannot encode are escaped instead of raising an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="penstock")


def _exit_code(call: Callable[[], Any]) -> int:
    try:
        result = call()
    except (UnreachableError, RefusedError) as error:
        _print_error(str(error))
        return _EXIT_UNANSWERED
    except PenstockError as error:
        return _print_error(str(error), picture=getattr(error, "picture", None))
    except OSError as error:
        return _print_error(f"{error.strerror or error}: check the disk, and where output goes")
    except typer.Abort:
        _print_error("stopped")
        return _EXIT_INTERRUPTED
    except Exception as error:
        # Typer's exception classes have moved between releases, but all have this method.
        if hasattr(error, "format_message"):
            return _print_error(_usage(error))
        return _print_internal_error(error)
    # typer.Exit inside a command is returned as its code.
    return result if isinstance(result, int) else 0


def _usage(error: Any) -> str:
    # The library that checks options puts its own class before its text.
    message = str(error.format_message()).replace(": Value error, ", ": ")
    message += "" if message.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)
    return f"{message} Try '{context.command_path} --help'." if context else message


def _print_error(message: str, picture: Callable[[], str] | None = None) -> int:
    typer.echo(f"penstock: {' '.join(message.split())}", err=True)
    if picture is not None:
        typer.echo("\n".join(f"  {line}" for line in picture().split("\n")), err=True)
    return _EXIT_USAGE_ERROR


def _print_internal_error(error: Exception) -> int:
    if os.environ.get("PENSTOCK_DEBUG"):
        traceback.print_exception(error)
    typer.echo(
        f"penstock: internal error, {_said(error)} (this is a bug: please report it, with the"
        " command and the traceback that PENSTOCK_DEBUG=1 shows)",
        err=True,
    )
    return _EXIT_INTERNAL_ERROR


def _said(error: Exception) -> str:
    """The kind of an error and its text, in one line."""
    try:
        text = str(error)
    except Exception:
        # Errors of Java ask Java for their text, and Java may be dead.
        text = "without a text"
    return " ".join(f"{type(error).__name__}: {text}".split())
