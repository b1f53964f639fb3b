"""NOTIFY: a transport frame for one client."""

from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.carried_frame import CarriedFrame


class Notify(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Brings a client what one of its subscriptions asked for."""

    carried: CarriedFrame
