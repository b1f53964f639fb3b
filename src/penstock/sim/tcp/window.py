"""What a congestion-control algorithm is to the sender: one number, moved by three events."""

from typing import Protocol

from penstock.kernel.instant import Duration, Instant


class Window(Protocol):
    """How many segments may be in flight; `threshold` is where slow start ends."""

    size: float
    threshold: float

    def on_progress(self, segments: int, *, srtt: Duration, now: Instant) -> None:
        """So many segments were newly acknowledged, outside of recovery."""

    def on_loss(self, flight: int, *, now: Instant) -> None:
        """A loss was found by duplicate acknowledgements: once for each recovery."""

    def on_timeout(self, flight: int, *, now: Instant) -> None:
        """Nothing was heard for so long that everything in flight counts as lost."""
