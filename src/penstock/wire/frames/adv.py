"""ADV: the Bloom filters that attract packets to a broker, flooded to all brokers."""

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import (
    OverlayFrame,
    TrafficClass,
    check_ascending,
    check_blooms,
    check_count,
    check_type,
    check_unsigned,
)
from penstock.wire.limits import ADVERT_FILTERS_MAX


class Adv(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """The interests of `origin` in one traffic class; `seq` counts per origin and class.

    A full advert replaces all earlier ones and may have several parts, which share its `seq`. A
    delta applies only to the advert before it. Filters are Bloom sets in ascending order.
    """

    origin: int
    seq: int
    traffic: TrafficClass
    full: bool
    bloom_bytes: int
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    part: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        check_unsigned(32, origin=self.origin, seq=self.seq)
        check_type(TrafficClass, traffic=self.traffic)
        check_type(bool, full=self.full)
        check_unsigned(16, part=self.part, parts=self.parts)
        if self.part >= self.parts:
            raise UsageError(f"part {self.part} of {self.parts}: parts count from 0")
        if self.full and self.removed:
            raise UsageError("a full advert removes nothing: it replaces everything")
        if not self.full and self.parts != 1:
            raise UsageError("a delta has one part: send several deltas instead")
        for what, filters in (("added filters", self.added), ("removed filters", self.removed)):
            check_count(what, filters, ADVERT_FILTERS_MAX)
            check_ascending(what, filters)
        check_blooms(self.bloom_bytes, *self.added, *self.removed)
