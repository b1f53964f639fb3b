"""What the verbs of REQUEST take, as JSON; what no verb could do anything with is not decoded."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from penstock.guaranteed.settings import Retention, check_retention
from penstock.kernel.errors import UsageError
from penstock.wire.frames.guaranteed.base import (
    Start,
    StartKind,
    check_name,
    check_start,
    check_ticks,
)

_PUBEND: Final = re.compile("[0-9A-Fa-f]{1,16}")


def _check_stream(name: str) -> None:
    check_name("the name of a stream", name)


def _check_durable(name: str) -> None:
    check_name("the name of a durable", name)


def _check_pubend(text: str) -> None:
    if text and not _PUBEND.fullmatch(text):
        raise UsageError(f"a pubend is 16 hexadecimal digits, not {text[:40]!r}")


class NoArguments(msgspec.Struct, frozen=True):
    """Of verbs that need none."""


class NamesAfter(msgspec.Struct, frozen=True):
    """A page of names: those behind this one, or one alone."""

    after: str = ""
    only: str = ""

    def __post_init__(self) -> None:
        if self.only:
            _check_durable(self.only)


class SeekArguments(msgspec.Struct, frozen=True):
    """Where a durable name goes on; `value` is a tick or Unix nanoseconds."""

    durable: str
    start: Literal["first", "now", "tick", "time"]
    value: int = 0
    # With `tick`: of which pubend it is. One of a pubend that the name does not read is refused.
    pubend: str = ""

    def __post_init__(self) -> None:
        _check_durable(self.durable)
        _check_pubend(self.pubend)
        check_start(self.wire_start)

    @property
    def wire_start(self) -> Start:
        """As frames have it."""
        return Start(StartKind[self.start.upper()], self.value)


class ParkedArguments(msgspec.Struct, frozen=True):
    """Parked messages of a name: a page of them, or what to do with one, or with all."""

    durable: str
    action: Literal["list", "retry", "discard"] = "list"
    # Of `list`: how many to leave out.
    skip: int = 0
    # Of the others: which one; without `pubend` all.
    pubend: str = ""
    tick: int = 0

    def __post_init__(self) -> None:
        _check_durable(self.durable)
        _check_pubend(self.pubend)
        check_ticks(tick=self.tick)


class ForgetArguments(msgspec.Struct, frozen=True):
    """A durable name of this host, or a whole host, at the broker that stores the streams."""

    durable: str = ""
    host: str = ""

    def __post_init__(self) -> None:
        if bool(self.durable) == bool(self.host):
            raise UsageError("name either a durable or a host")
        check_name("the name of a durable or host", self.durable or self.host)


class CreateArguments(msgspec.Struct, frozen=True):
    """A new stream."""

    stream: str
    retention: Retention = Retention()
    slow_host: Literal["throttle", "lag"] = "throttle"

    def __post_init__(self) -> None:
        _check_stream(self.stream)
        check_retention(self.retention)


class StreamArguments(msgspec.Struct, frozen=True):
    """One stream."""

    stream: str

    def __post_init__(self) -> None:
        _check_stream(self.stream)


class ChangeArguments(msgspec.Struct, frozen=True):
    """Other limits of a stream; what is left out stays."""

    stream: str
    size_bytes: int | msgspec.UnsetType | None = msgspec.UNSET
    age_ns: int | msgspec.UnsetType | None = msgspec.UNSET
    drops: bool | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        _check_stream(self.stream)

    def applied(self, retention: Retention) -> Retention:
        """The limits as they are to be."""
        given = {
            name: value
            for name in ("size_bytes", "age_ns", "drops")
            if (value := getattr(self, name)) is not msgspec.UNSET
        }
        return msgspec.structs.replace(retention, **given)
