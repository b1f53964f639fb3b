"""PUB: a client's transport frame for the network."""

from penstock.wire.frames.base import OverlayFrame, TrafficClass, check_type
from penstock.wire.frames.carried_frame import CarriedFrame


class Pub(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Requests the broker to route the carried frame."""

    traffic: TrafficClass
    carried: CarriedFrame

    def __post_init__(self) -> None:
        check_type(TrafficClass, traffic=self.traffic)
