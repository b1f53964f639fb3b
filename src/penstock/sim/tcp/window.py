"""The interface between sender and congestion control: one window, changed by three events."""

from typing import Protocol

from penstock.kernel.instant import Duration, Instant


class Window(Protocol):
    """Segments that may be in flight; `threshold` is where slow start ends."""

    size: float
    threshold: float

    def on_progress(self, segments: int, *, srtt: Duration, now: Instant) -> None:
        """`segments` were newly acknowledged, outside of recovery."""

    def on_loss(self, flight: int, *, now: Instant) -> None:
        """Duplicate acknowledgements showed a loss; called once per recovery."""

    def on_timeout(self, flight: int, *, now: Instant) -> None:
        """The retransmission timer expired: all segments in flight count as lost."""
