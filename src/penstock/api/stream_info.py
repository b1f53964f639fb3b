"""What a broker tells of its streams."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.retention import Retention
from penstock.api.units import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who keeps a log from being trimmed: a host, and those of its durables that lag most."""

    host: str
    durables: tuple[str, ...]
    # Unix time since when it has not read on.
    since_ns: int
    # What could be trimmed without it.
    bytes: int

    def __post_init__(self) -> None:
        count("since_ns", self.since_ns)
        count("bytes", self.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamInfo:
    """One stream: what its log has now, what it may keep, and who blocks the trim."""

    name: str
    messages: int
    bytes: int
    retention: Retention
    # None: nobody keeps more than retention allows.
    held_by: Holder | None = None
    # Whether this broker stores it: another one tells nothing but the name.
    is_here: bool = True

    def __post_init__(self) -> None:
        count("messages", self.messages)
        count("bytes", self.bytes)
