"""NACK, FILTER, FILTER_ACK and READER: what a child wants of a pubend."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    NACK_RANGES_MAX,
    BrokerFrame,
    ReaderId,
    TickRange,
    check_range,
    check_reader,
    check_ticks,
)


class Nack(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """Requests what was said of these ticks."""

    pubend: int
    ranges: tuple[TickRange, ...]
    reader: ReaderId | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_count("ranges", self.ranges, NACK_RANGES_MAX)
        for start, stop in self.ranges:
            check_range(start, stop)
        check_reader(self.reader)


class FilterRequest(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """FILTER: from now on, what does not match is silence to the sender."""

    pubend: int
    # Counts the filters that the sender has asked for.
    epoch: int
    predicate: Predicate

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, epoch=self.epoch)


class FilterAck(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """All that follows, repairs included, is under that filter; silence before `tick` is not."""

    pubend: int
    epoch: int
    tick: int

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend, epoch=self.epoch)
        check_ticks(tick=self.tick)


class ReaderRequest(BrokerFrame, frozen=True, kw_only=True, gc=False):
    """READER: registers the predicate of a reader; None closes it.

    A pubend sends it back, closed, for a reader that it does not know.
    """

    pubend: int
    reader: ReaderId
    predicate: Predicate | None

    def __post_init__(self) -> None:
        check_unsigned(64, pubend=self.pubend)
        check_reader(self.reader)
