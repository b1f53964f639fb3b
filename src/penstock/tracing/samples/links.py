"""Samples of links: counters since the start become counts per interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.trace.records import LinkSample, QueueSample


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """One direction of a link at one instant; counters are since the start."""

    # Without what is queued.
    sent_bytes: int = 0
    sent_packets: int = 0
    # Packets dropped, by reason.
    queue_full: int = 0
    loss: int = 0
    down: int = 0
    corrupt: int = 0
    rate_bps: int | None = None
    queue_packets: int = 0
    queue_bytes: int = 0
    # The most since the state before; None if nobody watches.
    queue_peak_bytes: int | None = None

    def counters(self) -> tuple[int, ...]:
        """The counters, in the order of the columns of `LinkSample`."""
        return (
            self.sent_bytes, self.sent_packets,
            self.queue_full, self.loss, self.down, self.corrupt,
        )  # fmt: skip


_AT_START: Final = LinkState()


class LinkSamples:
    """Link and queue samples of one run."""

    def __init__(self) -> None:
        self._previous: Final[dict[str, LinkState]] = {}

    def sample(
        self, link: str, state: LinkState, interval_ns: Duration, *, now: Instant
    ) -> tuple[LinkSample, QueueSample]:
        """Traffic since the previous sample, `interval_ns` ago, and the queue now."""
        previous = self._previous.get(link, _AT_START)
        self._previous[link] = state
        # A rate changes between two samples, or together with the first of them.
        capacity_bps = previous.rate_bps or state.rate_bps
        since = [a - b for a, b in zip(state.counters(), previous.counters(), strict=True)]
        return (
            LinkSample(now, link, interval_ns, capacity_bps, *since),
            QueueSample(now, link, state.queue_packets, state.queue_bytes, state.queue_peak_bytes),
        )
