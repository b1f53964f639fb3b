"""HOLD, HELD and ACK: how far each host has read a pubend, so that its log can be trimmed."""

from __future__ import annotations

from typing import NamedTuple

from penstock.wire.frames.base import check_count, check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    ACK_ENTRIES_MAX,
    NAME_BYTES_MAX,
    BrokerFrame,
    Serial,
    Start,
    check_name,
    check_serial,
    check_start,
    check_ticks,
)
from penstock.wire.frames.texts import check_text


class Hold(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """Asks where a subscription begins, and, with `keep`, to trim nothing from there on."""

    pubend: int
    host: str
    serial: Serial
    # The name of the durable subscription; "" for none.
    durable: str
    start: Start
    keep: bool

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_name("the name of a host", self.host)
        check_serial(self.serial)
        check_text("the name of a durable subscription", self.durable, NAME_BYTES_MAX)
        check_start(self.start)
        check_type(bool, keep=self.keep)


class Held(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """The answer to HOLD: the subscription begins behind `tick`, or why it may not."""

    pubend: int
    host: str
    serial: Serial
    tick: int
    # Empty when it was granted; else the host that the durable name belongs to.
    other_host: str = ""

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_name("the name of a host", self.host)
        check_serial(self.serial)
        check_ticks(tick=self.tick)
        check_text("the name of a host", self.other_host, NAME_BYTES_MAX)


class HostAck(NamedTuple):
    """One host has read everything up to and including `tick`; `WITHDRAWN` takes its row away."""

    host: str
    serial: Serial
    tick: int


class Ack(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """How far hosts have read; entries of several hosts travel together and are never merged."""

    pubend: int
    entries: tuple[HostAck, ...]

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_count("entries", self.entries, ACK_ENTRIES_MAX)
        for host, serial, tick in self.entries:
            check_name("the name of a host", host)
            check_serial(serial)
            # Not `check_ticks`: it may be `WITHDRAWN`.
            check_unsigned(64, tick=tick)
