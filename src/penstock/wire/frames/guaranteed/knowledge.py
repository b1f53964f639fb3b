"""DATA, SILENCE, GAP and HORIZON: what a child learns of a pubend, in the order of the link."""

from __future__ import annotations

from penstock.wire.frames.base import check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    MESSAGE_BYTES_MAX,
    TICK_MAX,
    BrokerFrame,
    GapReason,
    ReaderId,
    check_body,
    check_range,
    check_reader,
)


class Data(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """A message at `tick`, and silence from `start` up to it."""

    pubend: int
    start: int
    tick: int
    # Unix time in nanoseconds, by the clock of the broker that stored it.
    published_ns: int
    # Attributes and payload, as the publisher's client wrote them.
    body: bytes
    # The reader whose request this answers, under its predicate; None for everybody.
    reader: ReaderId | None = None

    def __post_init__(self) -> None:
        # One test for all numbers: this frame is built for every message on every link.
        if (
            not 0 <= self.start <= self.tick <= TICK_MAX
            or (self.pubend | self.published_ns) >> 64
            or len(self.body) > MESSAGE_BYTES_MAX
        ):
            check_unsigned(64, pubend=self.pubend, published_ns=self.published_ns)
            check_body(self.body)
            check_range(self.start, self.tick + 1)
        if self.reader is not None:
            check_reader(self.reader)


class Silence(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """Nothing that the receiver wants was published from `start` up to `stop`."""

    pubend: int
    start: int
    stop: int
    reader: ReaderId | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_range(self.start, self.stop)
        check_reader(self.reader)


class Gap(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """Messages from `start` up to `stop` are gone for good."""

    pubend: int
    start: int
    stop: int
    reason: GapReason
    # At most so many.
    messages: int
    reader: ReaderId | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, messages=self.messages)
        check_range(self.start, self.stop)
        check_type(GapReason, reason=self.reason)
        check_reader(self.reader)


class Horizon(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """All up to `stop` has been decided: what the receiver does not know of it is a gap."""

    pubend: int
    stop: int

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, stop=self.stop)
