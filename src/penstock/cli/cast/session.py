"""What the commands of casts share: answers in JSON, and how they end when they are stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Final, TypeVar

import typer

from penstock.cli.cast.options import name_in
from penstock.cli.output import print_json
from penstock.kernel.errors import PenstockError

Result = TypeVar("Result")

_EXIT_STOPPED: Final = 128 + signal.SIGINT
_STOPPED: Final = "stopped"


class StoppedError(PenstockError):
    """Ctrl-C or SIGTERM cut a cast short; the text says how to go on."""


def answers(command: Callable[..., None]) -> Callable[..., None]:
    """With --json, a command that fails prints one object as well; stopped, it exits with 130."""

    @wraps(command)
    def answering(**options: Any) -> None:
        try:
            command(**options)
        except StoppedError as error:
            _answer(options, str(error))
            typer.echo(f"penstock: {error}", err=True)
            raise typer.Exit(_EXIT_STOPPED) from None
        except PenstockError as error:
            _answer(options, str(error))
            raise
        except KeyboardInterrupt:
            _answer(options, _STOPPED)
            raise

    return answering


def _answer(options: dict[str, Any], error: str) -> None:
    if options["as_json"]:
        item = options["item"] if "directory" in options else options["item"] or options["path"]
        name = name_in(item) if "directory" in options else str(item)
        print_json({"item": name, "error": error, "reason": None})


def run_stoppable(program: Coroutine[object, object, Result]) -> Result | None:
    """The result of a program; None if Ctrl-C or SIGTERM ended it."""
    from penstock.cli.run_until_stopped import run

    results: list[Result] = []

    async def main() -> None:
        results.append(await program)

    run(main())
    return results[0] if results else None
