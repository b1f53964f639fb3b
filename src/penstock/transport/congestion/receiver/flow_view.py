"""One filter of a receiver at one publisher; does not know other filters or sessions."""

from __future__ import annotations

from typing import Final

from penstock.content.filter import Filter
from penstock.content.syntax.writer import format_filter
from penstock.kernel.instant import Instant
from penstock.tfrc.rate_meter import RateMeter
from penstock.transport.congestion.receiver.flow_loss import FlowLossDetector


class FlowView:
    """The rate and quota of a filter, and the publisher's flow for it, if any."""

    __slots__ = (
        "bits",
        "filter",
        "flow_id",
        "is_limiting",
        "last_seen_ns",
        "loss_detector",
        "meter",
        "name",
        "quota_mps",
        "rate_mps",
        "weight",
    )

    def __init__(self, filter_: Filter, bits: int, weight: float = 1.0) -> None:
        self.filter: Final = filter_
        self.name: Final = format_filter(filter_)
        self.bits: Final = bits
        self.weight = weight
        self.meter: Final = RateMeter()
        self.loss_detector: Final = FlowLossDetector()
        # As of the last update of the session.
        self.rate_mps = 0.0
        self.quota_mps = 0.0
        # The publisher's flow with exactly this filter, when a message last mentioned it, and
        # whether this receiver limits it.
        self.flow_id: int | None = None
        self.last_seen_ns: Instant = 0
        self.is_limiting = False

    def on_flow(self, flow_id: int, *, is_limiting: bool, now: Instant) -> None:
        """The publisher announces a flow with this filter."""
        if flow_id != self.flow_id:
            self.flow_id = flow_id
            self.loss_detector.clear()
        self.is_limiting = is_limiting
        self.last_seen_ns = now

    def clear_flow(self) -> None:
        """The publisher has no flow with this filter any more."""
        self.flow_id = None
        self.is_limiting = False
        self.loss_detector.clear()
