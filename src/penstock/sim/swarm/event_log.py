"""A run as lines of text: every frame, where it goes and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from penstock.kernel.instant import Instant, to_seconds
from penstock.sim.checkers.base import describe_message, message_of
from penstock.sim.link import Link
from penstock.sim.observer import DropReason, Observer

Log: TypeAlias = Callable[[str], object]


class EventLog(Observer):
    """Tells `log`."""

    def __init__(self, log: Log) -> None:
        self._log: Final = log

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """A frame leaves."""
        self._log(f"{to_seconds(now):.6f} s {link.name} < {_describe(frame)} ({size_bytes} B)")

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """A frame arrives."""
        self._log(f"{to_seconds(now):.6f} s {link.name} > {_describe(frame)}")

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """A frame ends."""
        self._log(f"{to_seconds(now):.6f} s {place} drops {_describe(frame)}: {reason}")


def _describe(frame: Any) -> str:
    message = message_of(frame)
    if message is None:
        return str(frame)
    towards = getattr(frame, "destinations", None)
    return f"{type(frame).__name__} of {describe_message(message)}" + (
        f" to {towards}" if towards else ""
    )
