"""LIVE, DCQ, UCA and REPORT: how hosts are, and what they can take."""

from __future__ import annotations

from math import inf

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    BrokerFrame,
    check_name,
    check_range,
    check_ticks,
)


class Live(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """LIVE: whether a child wants new messages on this link, or HORIZON alone."""

    pubend: int
    is_on: bool

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_type(bool, is_on=self.is_on)


class CongestionQuery(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """DCQ: a pubend asks all hosts how they are; `newest` is where it is itself."""

    pubend: int
    seq: int
    newest: int

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, seq=self.seq)
        check_ticks(newest=self.newest)


class CongestionAlert(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """UCA: the slowest hosts that complain. Their rates are stream time by time."""

    pubend: int
    seq: int
    # Infinite where nobody of that kind complains.
    normal_rate: float = inf
    recovering_rate: float = inf
    # How far the one furthest behind has got.
    position: int = 0

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, seq=self.seq)
        check_ticks(position=self.position)
        if not (self.normal_rate >= 0 and self.recovering_rate >= 0):
            raise UsageError(
                f"rates are 0 or more, not {self.normal_rate} and {self.recovering_rate}"
            )


class Progress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From where up to where a host has got since it was last asked, and in which time."""

    host: str
    start: int
    stop: int
    elapsed_ns: int
    # Behind `newest` of the query, less the least that it lagged in the last minutes.
    over_lag_ns: int = 0

    def check(self) -> None:
        """Refuses what cannot be."""
        check_name("the name of a host", self.host)
        if self.stop != self.start:
            check_range(self.start, self.stop)
        check_ticks(start=self.start)
        check_unsigned(64, elapsed_ns=self.elapsed_ns, over_lag_ns=self.over_lag_ns)


class CongestionReport(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """REPORT: of the hosts that keep up the one that lags most, and the one furthest behind."""

    pubend: int
    seq: int
    normal: Progress | None = None
    recovering: Progress | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, seq=self.seq)
        for progress in (self.normal, self.recovering):
            if progress is not None:
                progress.check()
