"""SUB: a client asking for messages."""

from penstock.content.filter import Predicate
from penstock.wire.frames.base import OverlayFrame, TrafficClass, check_type, check_unsigned


class Sub(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Asks for what the predicate matches; the client chooses the number."""

    subscription: int
    traffic: TrafficClass
    predicate: Predicate

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_type(TrafficClass, traffic=self.traffic)
