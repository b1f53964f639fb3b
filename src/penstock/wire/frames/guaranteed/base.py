"""The base classes of all frames of guaranteed streams, and the names they share.

A *tick* is a point of stream time, a 64-bit number (see `guaranteed.tick`). Ranges of ticks are
half-open in every frame: `start` is in the range, `stop` is not.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned

# 2^64 - 1 is no tick: in an ACK it withdraws a host.
TICK_BITS: Final = 64
TICK_MAX: Final = 2**64 - 2
WITHDRAWN: Final = 2**64 - 1

NAME_BYTES_MAX: Final = 64
MESSAGE_BYTES_MAX: Final = 1 << 20
NACK_RANGES_MAX: Final = 64
ACK_ENTRIES_MAX: Final = 64
DEAD_RANGES_MAX: Final = 16


class BrokerFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any frame from one broker to another."""


class ClientFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any frame between a client and its broker."""


class TickRange(NamedTuple):
    """Ticks from `start` up to, not including, `stop`."""

    start: int
    stop: int


class ReaderId(NamedTuple):
    """A reader of a host that asks for repairs under a predicate of its own."""

    host: str
    number: int


class Serial(NamedTuple):
    """Orders what a host says of one pubend: its life, then the number of HOLDs in it."""

    life: int
    number: int


class StartKind(IntEnum):
    """Where a new subscription begins."""

    FIRST = 0
    NOW = 1
    # Behind the tick that is given.
    TICK = 2
    # At the first message published at the given time or later, in Unix nanoseconds.
    TIME = 3


class Start(NamedTuple):
    """Where to begin; `value` is a tick or a time, else 0."""

    kind: StartKind
    value: int = 0


class GapReason(IntEnum):
    """Why messages are not there any more."""

    RETENTION = 0
    DAMAGED = 1
    RECREATED = 2
    ROLLED_BACK = 3


def check_ticks(**fields: int) -> None:
    """Refuses what is no tick."""
    check_unsigned(TICK_BITS, **fields)


def check_range(start: int, stop: int) -> None:
    """Refuses empty ranges and those that are none."""
    check_ticks(start=start, stop=stop)
    if start >= stop:
        raise UsageError(f"a range of ticks ends behind its start: {start} to {stop} is none")


def check_name(what: str, name: str) -> None:
    """Refuses names that are empty or too long."""
    if not 0 < len(name.encode()) <= NAME_BYTES_MAX:
        raise UsageError(f"{what} has 1 to {NAME_BYTES_MAX} bytes, not {len(name.encode())}")
