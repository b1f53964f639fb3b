"""HELLO and PING: who is at the other end of a link, and whether it still is."""

from __future__ import annotations

from enum import IntFlag
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    ADDRESS_BYTES_MAX,
    DEAD_RANGES_MAX,
    PUBENDS_MAX,
    BrokerFrame,
    TickRange,
    check_name,
    check_range,
    check_ticks,
)
from penstock.wire.frames.texts import check_text


class Role(IntFlag):
    """What a broker does; most do all of it."""

    PUBLISH = 1
    RELAY = 2
    HOST = 4
    # It does not know yet what its own parents serve: what it does not announce may exist.
    PARTIAL = 8


ALL_ROLES: Final = Role.PUBLISH | Role.RELAY | Role.HOST | Role.PARTIAL


class Announcement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pubend that the sender can serve."""

    pubend: int
    stream: str
    # Brokers between the sender and the pubend.
    distance: int
    # No tick above it was ever said.
    lease: int
    # Ticks between two lives of the pubend: nothing was ever said in them.
    dead_ranges: tuple[TickRange, ...] = ()
    # Where clients reach the broker that stores it; "" if it has not said.
    address: str = ""

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_unsigned(8, distance=self.distance)
        check_ticks(lease=self.lease)
        check_name("the name of a stream", self.stream)
        check_text("an address", self.address, ADDRESS_BYTES_MAX)
        check_count("dead ranges", self.dead_ranges, DEAD_RANGES_MAX)
        for start, stop in self.dead_ranges:
            check_range(start, stop)


class Hello(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """The first frame on each connection, and again when the list of pubends changes."""

    broker: str
    # A number that is higher after each restart.
    life: int
    roles: Role
    # The same on both connections of a link.
    token: int
    pubends: tuple[Announcement, ...] = ()

    def __post_init__(self) -> None:
        check_name("the name of a broker", self.broker)
        check_unsigned(64, life=self.life, token=self.token)
        if self.roles & ~int(ALL_ROLES):
            raise UsageError(f"roles {int(self.roles):#04x} are not all known")
        check_count("pubends", self.pubends, PUBENDS_MAX)


class Ping(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """Says nothing but that the sender is there."""
