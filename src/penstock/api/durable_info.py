"""What a broker tells of durable subscriptions, and how far they are behind."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.api.checkpoint import Checkpoint
from penstock.api.filter import Filter
from penstock.api.units import count, quoted
from penstock.kernel.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a reader is behind the end of its streams."""

    # None, like the others, where the log is at another broker, which does not say.
    messages: int | None
    # The age of the oldest message that is not yet acknowledged.
    seconds: float | None
    # Of what retention allows, 0 to 1; above 1 where what is not acknowledged holds more.
    retention_share: float | None
    # With a filter some of the messages may not match, and with `overflow="drop"` some may be gone.
    is_upper_bound: bool

    def __post_init__(self) -> None:
        if self.messages is not None:
            count("messages", self.messages)
        for name in ("seconds", "retention_share"):
            number = getattr(self, name)
            if number is not None and not (math.isfinite(number) and number >= 0):
                raise UsageError(f"{name} is 0 or more, not {quoted(number)}: write a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableInfo:
    """One durable subscription: what it wants, where it stands, and who reads it."""

    name: str
    streams: tuple[str, ...]
    # Where its cursor is kept.
    host: str
    filter: Filter
    # As `message.checkpoint`: everything up to there has been acknowledged.
    checkpoint: str
    lag: Lag
    # The name of the node that reads it, and Unix time since when; None: nobody does.
    reader: str | None = None
    reader_since_ns: int | None = None
    # Messages that failed too often and were put aside.
    parked: int = 0
    # Of its streams those that are not there any more.
    deleted: tuple[str, ...] = ()
    # Why its reading was ended, by a message that failed too often; "" if it was not.
    stopped: str = ""

    def __post_init__(self) -> None:
        Checkpoint.parse(self.checkpoint)
        if self.reader_since_ns is not None:
            count("reader_since_ns", self.reader_since_ns)
