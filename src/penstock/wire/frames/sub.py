"""SUB: a client's subscription."""

from penstock.content.filter import Predicate
from penstock.wire.frames.base import OverlayFrame, TrafficClass, check_type, check_unsigned


class Sub(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Subscribes to messages that match the predicate; the client chooses the id."""

    subscription: int
    traffic: TrafficClass
    predicate: Predicate

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_type(TrafficClass, traffic=self.traffic)
