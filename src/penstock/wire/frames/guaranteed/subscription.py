"""Frames between a client and its host that are about a subscription."""

from __future__ import annotations

from enum import IntFlag
from typing import NamedTuple

from penstock.content.filter import Predicate
from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.guaranteed.base import (
    ClientFrame,
    GapReason,
    Start,
    check_name,
    check_range,
)


class Position(NamedTuple):
    """How far one pubend has been read: everything up to and including `tick`."""

    pubend: int
    tick: int


class AttachFlags(IntFlag):
    """What else a client asks for when it attaches."""

    NONE = 0
    TAKEOVER = 1
    CHANGE_FILTER = 2
    # Instead of stopping, put a message aside that was handed out too often.
    PARK = 4


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
        for stream in self.streams:
            check_name("the name of a stream", stream)


class Attached(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ATTACHED: what is published from now on will be delivered."""

    subscription: int
    # Whether the durable name was known.
    resumed: bool
    positions: tuple[Position, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)


class HandOut(ClientFrame, frozen=True, kw_only=True, gc=False):
    """MESSAGE: the next message of a subscription."""

    subscription: int
    pubend: int
    tick: int
    published_ns: int
    # 1 unless it has been handed out before.
    attempt: int
    body: bytes

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription, attempt=self.attempt)
        check_unsigned(64, pubend=self.pubend, tick=self.tick, published_ns=self.published_ns)


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


class ClientAck(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ACK of a client: everything up to these positions has been dealt with."""

    subscription: int
    positions: tuple[Position, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)


class Acked(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ACKED: these positions are stored."""

    subscription: int
    positions: tuple[Position, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)


class Fail(ClientFrame, frozen=True, kw_only=True, gc=False):
    """FAIL: the application could not deal with this message; it comes again later."""

    subscription: int
    pubend: int
    tick: int
    reason: str

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_unsigned(64, pubend=self.pubend, tick=self.tick)


class Detach(ClientFrame, frozen=True, kw_only=True, gc=False):
    """DETACH: ends reading; a durable subscription keeps its cursor."""

    subscription: int

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)


class Forget(ClientFrame, frozen=True, kw_only=True, gc=False):
    """FORGET: deletes a durable subscription, which frees its messages."""

    durable: str

    def __post_init__(self) -> None:
        check_name("the name of a durable subscription", self.durable)
