"""Frames between a client and its host that are about a subscription."""

from __future__ import annotations

from enum import IntFlag
from typing import Final, NamedTuple

from penstock.content.filter import Predicate
from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    NAME_BYTES_MAX,
    POSITIONS_MAX,
    STREAMS_MAX,
    TEXT_BYTES_MAX,
    TICK_MAX,
    ClientFrame,
    GapReason,
    Start,
    check_bodies,
    check_name,
    check_range,
    check_start,
    check_ticks,
)
from penstock.wire.frames.texts import check_text


class Position(NamedTuple):
    """How far one pubend has been read: everything up to and including `tick`."""

    pubend: int
    tick: int

    def __str__(self) -> str:
        """As people write it, and as `api.position` reads it."""
        return f"{self.pubend:016x}.{self.tick:x}"


class AttachFlags(IntFlag):
    """What else a client asks for when it attaches."""

    NONE = 0
    TAKEOVER = 1
    CHANGE_FILTER = 2
    # Instead of stopping, put a message aside that was handed out too often.
    PARK = 4


ALL_ATTACH_FLAGS: Final = AttachFlags.TAKEOVER | AttachFlags.CHANGE_FILTER | AttachFlags.PARK


class Attach(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ATTACH: opens a subscription, or takes a durable one up again."""

    subscription: int
    # "" for one that keeps no cursor.
    durable: str
    streams: tuple[str, ...]
    predicate: Predicate
    start: Start
    flags: AttachFlags
    # How often a message may be handed out without an ACK.
    attempts_max: int
    # Seconds after which an unread name is forgotten; 0 for never.
    expire_s: int
    # A reconnecting client says how far it has read itself; this wins over the host's cursor.
    positions: tuple[Position, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(
            32,
            subscription=self.subscription,
            attempts_max=self.attempts_max,
            expire_s=self.expire_s,
        )
        check_text("the name of a durable subscription", self.durable, NAME_BYTES_MAX)
        check_count("streams", self.streams, STREAMS_MAX)
        for stream in self.streams:
            check_name("the name of a stream", stream)
        check_start(self.start)
        if self.flags & ~int(ALL_ATTACH_FLAGS):
            raise UsageError(f"flags {int(self.flags):#04x} are not all known")
        check_positions(self.positions)


class Attached(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ATTACHED: what is published from now on will be delivered."""

    subscription: int
    # Whether the durable name was known.
    resumed: bool
    positions: tuple[Position, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_type(bool, resumed=self.resumed)
        check_positions(self.positions)


class HandOut(ClientFrame, frozen=True, kw_only=True, gc=False):
    """MESSAGES: the next messages of a subscription, all of one pubend, by rising ticks."""

    subscription: int
    pubend: int
    # 1 unless they have been handed out before.
    attempt: int
    # One of each for every message.
    ticks: tuple[int, ...]
    published_ns: tuple[int, ...]
    bodies: tuple[bytes, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription, attempt=self.attempt)
        check_unsigned(64, pubend=self.pubend)
        ticks, published_ns = self.ticks, self.published_ns
        check_bodies(self.bodies)
        if not len(ticks) == len(published_ns) == len(self.bodies):
            raise UsageError("every message has a tick, a time and a body")
        if min(published_ns) < 0 or max(published_ns) >> 64:
            raise UsageError("the time of a message has 64 bits")
        if ticks[0] < 0 or ticks[-1] > TICK_MAX or sorted(set(ticks)) != [*ticks]:
            raise UsageError("the ticks of messages rise")


class GapNotice(ClientFrame, frozen=True, kw_only=True, gc=False):
    """GAP to a client: messages that it wanted are gone, at most so many."""

    subscription: int
    pubend: int
    start: int
    stop: int
    reason: GapReason
    messages: int

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_unsigned(64, pubend=self.pubend, messages=self.messages)
        check_range(self.start, self.stop)
        check_type(GapReason, reason=self.reason)


class Fail(ClientFrame, frozen=True, kw_only=True, gc=False):
    """FAIL: the application could not deal with this message; it comes again later."""

    subscription: int
    pubend: int
    tick: int
    reason: str

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_unsigned(64, pubend=self.pubend)
        check_ticks(tick=self.tick)
        check_text("the reason of a failure", self.reason, TEXT_BYTES_MAX)


class Detach(ClientFrame, frozen=True, kw_only=True, gc=False):
    """DETACH: ends reading; a durable subscription keeps its cursor."""

    subscription: int
    # Else the program has failed at a message, as if it had crashed: what was handed out counts.
    is_clean: bool

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_type(bool, is_clean=self.is_clean)


class Forget(ClientFrame, frozen=True, kw_only=True, gc=False):
    """FORGET: deletes a durable subscription, which frees its messages."""

    durable: str

    def __post_init__(self) -> None:
        check_name("the name of a durable subscription", self.durable)


def check_positions(positions: tuple[Position, ...]) -> None:
    """Refuses positions that do not fit a frame."""
    check_count("positions", positions, POSITIONS_MAX)
    for pubend, tick in positions:
        check_unsigned(64, pubend=pubend)
        check_ticks(tick=tick)
