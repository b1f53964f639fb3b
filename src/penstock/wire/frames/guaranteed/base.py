"""The base classes of all frames of guaranteed streams, and the names they share.

A *tick* is a point of stream time, a 64-bit number (see `guaranteed.tick`). Ranges of ticks are
half-open in every frame: `start` is in the range, `stop` is not.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_type, check_unsigned
from penstock.wire.frames.texts import text_bytes

# 2^64 - 1 is no tick: it can end a range of ticks, and in an ACK it withdraws a host.
TICK_MAX: Final = 2**64 - 2
STOP_MAX: Final = 2**64 - 1
WITHDRAWN: Final = 2**64 - 1

NAME_BYTES_MAX: Final = 64
_STREAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Of a text for a person.
TEXT_BYTES_MAX: Final = 4_096
ADDRESS_BYTES_MAX: Final = 255
# The length of attributes, attributes and payload.
MESSAGE_BYTES_MAX: Final = 1 << 20
PREDICATE_BYTES_MAX: Final = 1 << 16
ARGUMENTS_BYTES_MAX: Final = 1 << 16
RESULT_BYTES_MAX: Final = 1 << 20
PUBENDS_MAX: Final = 1_024
DEAD_RANGES_MAX: Final = 16
NACK_RANGES_MAX: Final = 64
ACK_ENTRIES_MAX: Final = 64
# Messages in one frame, and publications that one frame confirms.
MESSAGES_MAX: Final = 1_000
CONFIRM_ENTRIES_MAX: Final = 4_096
STREAMS_MAX: Final = 64
POSITIONS_MAX: Final = 4_096


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
    """Refuses what is no tick: behind every tick there is a number that still has 64 bits."""
    for name, value in fields.items():
        if not 0 <= value <= TICK_MAX:
            raise UsageError(f"{name} must be a tick, 0 to 2^64 - 2, not {value}")


def check_range(start: int, stop: int) -> None:
    """Refuses empty ranges and those that are none."""
    if not 0 <= start < stop <= STOP_MAX:
        check_unsigned(64, start=start, stop=stop)
        raise UsageError(f"a range of ticks ends behind its start: {start} to {stop} is none")


def check_name(what: str, name: str) -> None:
    """Refuses names that are empty or too long."""
    if not 0 < text_bytes(name) <= NAME_BYTES_MAX:
        raise UsageError(f"{what} has 1 to {NAME_BYTES_MAX} bytes, not {text_bytes(name)}")


def check_stream_name(name: str) -> None:
    """Refuses what a new stream cannot be called."""
    if not _STREAM_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name of a stream: use 1 to {NAME_BYTES_MAX} letters, digits, '._-',"
            " and begin with a letter or digit"
        )


def cut_text(text: str) -> str:
    """As much of a text for a person as a frame takes."""
    encoded = text.encode(errors="replace")
    if len(encoded) > TEXT_BYTES_MAX:
        encoded = encoded[: TEXT_BYTES_MAX - 3] + b"..."
    return encoded.decode(errors="ignore")


def check_bytes(what: str, data: bytes, bytes_max: int) -> None:
    """Refuses more bytes than a frame has room for."""
    if len(data) > bytes_max:
        raise UsageError(f"{what} has at most {bytes_max} bytes, not {len(data)}")


def check_body(body: bytes) -> None:
    """Refuses a message that is too large for every frame that would carry it."""
    check_bytes("a message", body, MESSAGE_BYTES_MAX)


def check_reader(reader: ReaderId | None) -> None:
    """Refuses readers whose host or number does not fit."""
    if reader is not None:
        check_name("the name of a host", reader.host)
        if reader.number >> 32:
            check_unsigned(32, number=reader.number)


def check_serial(serial: Serial) -> None:
    """Refuses serials that do not fit."""
    check_unsigned(64, life=serial.life)
    check_unsigned(32, number=serial.number)


def check_start(start: Start) -> None:
    """Refuses starts with a value where none belongs, or one that does not fit."""
    check_type(StartKind, kind=start.kind)
    if start.kind is StartKind.TICK:
        check_ticks(value=start.value)
    elif start.kind is StartKind.TIME:
        check_unsigned(64, value=start.value)
    elif start.value:
        raise UsageError(f"a start of kind {start.kind.name} has the value 0, not {start.value}")


def check_bodies(bodies: tuple[bytes, ...]) -> None:
    """Refuses no messages, too many for one frame, and those that are too large together."""
    if not 0 < len(bodies) <= MESSAGES_MAX:
        raise UsageError(f"a frame has 1 to {MESSAGES_MAX} messages, not {len(bodies)}")
    if sum(map(len, bodies)) > MESSAGE_BYTES_MAX:
        check_body(b"".join(bodies))
