"""Writes a run as lines of text: every frame sent, arrived or dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from penstock.kernel.instant import Instant, to_seconds
from penstock.sim.checkers.base import describe_message, message_of
from penstock.sim.link import Link
from penstock.sim.observer import DropReason, Observer

Log: TypeAlias = Callable[[str], object]


class EventLog(Observer):
    """Calls `log` with one line per event."""

    def __init__(self, log: Log) -> None:
        self._log: Final = log

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """Logs a frame sent."""
        self._log(f"{to_seconds(now):.6f} s {link.name} < {_describe(frame)} ({size_bytes} B)")

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """Logs a frame that arrived."""
        self._log(f"{to_seconds(now):.6f} s {link.name} > {_describe(frame)}")

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Logs a dropped frame."""
        self._log(f"{to_seconds(now):.6f} s {place} drops {_describe(frame)}: {reason}")


def _describe(frame: Any) -> str:
    message = message_of(frame)
    if message is None:
        return str(frame)
    towards = getattr(frame, "destinations", None)
    return f"{type(frame).__name__} of {describe_message(message)}" + (
        f" to {towards}" if towards else ""
    )
