"""LAG and LAG_ANSWER: how much lies behind a place in a pubend."""

from __future__ import annotations

from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.guaranteed.base import (
    BrokerFrame,
    Serial,
    check_name,
    check_serial,
    check_ticks,
)


class LagRequest(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """LAG: a host asks what lies behind a tick."""

    pubend: int
    host: str
    serial: Serial
    tick: int

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_name("the name of a host", self.host)
        check_serial(self.serial)
        check_ticks(tick=self.tick)


class LagAnswer(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """LAG_ANSWER: messages behind that tick, what they take, and the age of the oldest."""

    pubend: int
    host: str
    serial: Serial
    messages: int
    size_bytes: int
    # What the log may keep; 0 for no limit.
    limit_bytes: int
    age_us: int
    # The log has given up messages behind that tick: some of them, or all, are gone.
    is_upper_bound: bool

    def __post_init__(self) -> None:
        check_unsigned(
            64,
            pubend=self.pubend,
            messages=self.messages,
            size_bytes=self.size_bytes,
            limit_bytes=self.limit_bytes,
            age_us=self.age_us,
        )
        check_name("the name of a host", self.host)
        check_serial(self.serial)
