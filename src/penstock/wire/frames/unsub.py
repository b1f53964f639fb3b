"""UNSUB: a client ends a subscription."""

from penstock.wire.frames.base import OverlayFrame, check_unsigned


class Unsub(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Removes a subscription."""

    subscription: int

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
