"""All errors that users can meet, in one place.

Their arguments are kept whole, so that they survive pickling; `str()` is one line for a person:
what is wrong, a colon, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.content.syntax.errors import FilterSyntaxError
from penstock.kernel.errors import (
    PenstockError,
    RefusedError,
    TooLargeError,
    UnreachableError,
    UsageError,
)

if TYPE_CHECKING:
    from penstock.api.loss import Loss
    from penstock.api.stream_message import StreamMessage

__all__ = [
    "ClosedError",
    "ConfigError",
    "DurableError",
    "FilterSyntaxError",
    "GapError",
    "NotConfirmedError",
    "PenstockError",
    "PoisonError",
    "RefusedError",
    "TooLargeError",
    "TransferError",
    "UnreachableError",
    "UsageError",
]


class ConfigError(UsageError):
    """A configuration file has a mistake; `key` is dotted, and None where it is not about one."""

    def __init__(self, text: str, file: str, line: int, key: str | None = None) -> None:
        super().__init__(text, file, line, key)
        self.text = text
        self.file = file
        self.line = line
        self.key = key

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class ClosedError(PenstockError):
    """The node or subscription has ended."""


class NotConfirmedError(PenstockError, TimeoutError):
    """A publication may or may not be stored; to repeat it with the same number is safe."""

    def __init__(self, publication: int, why: str) -> None:
        super().__init__(publication, why)
        self.publication = publication
        self.why = why

    def __str__(self) -> str:
        return (
            f"publication {self.publication} may or may not be stored: {self.why}:"
            f" repeat it with publication={self.publication}"
        )


# What happened to the stream, by the reason of the loss.
_GAPS = {
    "retention": "gave up at most {count:,} messages",
    "damaged": "has at most {count:,} messages damaged on disk",
    "recreated": "was created anew, without at most {count:,} messages",
    "rolled_back": "was restored from an older log, without at most {count:,} messages",
}


class GapError(PenstockError):
    """A stream no longer has messages that a subscription had not read; iterating again goes on.

    `durable` is the reader's name; `retention` is as written, and said where it is to blame.
    """

    def __init__(
        self, loss: Loss, durable: str | None = None, retention: str | None = None
    ) -> None:
        super().__init__(loss, durable, retention)
        self.loss = loss
        self.durable = durable
        self.retention = retention

    def __str__(self) -> str:
        happened = _GAPS.get(self.loss.reason, "lost at most {count:,} messages")
        reader = "this subscription" if self.durable is None else f"'{self.durable}'"
        limit = f" (retention {self.retention})" if self.retention else ""
        return (
            f"stream '{self.loss.stream}' {happened.format(count=self.loss.count)}"
            f" that {reader} had not read{limit}: iterate again to go on"
        )


class PoisonError(PenstockError):
    """A message failed too often; `reasons` are what `fail` was told, the oldest first."""

    def __init__(self, message: StreamMessage, reasons: tuple[str, ...]) -> None:
        super().__init__(message, reasons)
        self.message = message
        self.reasons = reasons

    def __str__(self) -> str:
        last = next((reason for reason in reversed(self.reasons) if reason), "")
        because = f" ({' '.join(last.split())})" if last else ""
        times = "time" if self.message.attempt == 1 else "times"
        return (
            f"message {self.message.position} of '{self.message.stream}' failed"
            f" {self.message.attempt} {times}{because}: pass"
            ' checkpoint=error.message.checkpoint to skip it, or poison="park"'
        )


class DurableError(PenstockError):
    """A durable name cannot be read so; `reason` is a word for programs.

    It is one of unknown, in_use, other_filter and other_host.
    """

    def __init__(self, text: str, durable: str, reason: str) -> None:
        super().__init__(text, durable, reason)
        self.text = text
        self.durable = durable
        self.reason = reason

    def __str__(self) -> str:
        return self.text


class TransferError(PenstockError):
    """A cast could not go on, or left receivers `unfinished`; `result` is None without one."""

    def __init__(
        self, text: str, result: object = None, unfinished: tuple[object, ...] = ()
    ) -> None:
        super().__init__(text, result, unfinished)
        self.text = text
        self.result = result
        self.unfinished = unfinished

    def __str__(self) -> str:
        return self.text
