"""NOTIFY: delivers a transport frame to one client."""

from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import CarriedFrame


class Notify(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Delivers a frame that matches one of the client's subscriptions."""

    carried: CarriedFrame
