"""Samples of links: counters since the start become counts per interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.kernel.instant import Duration, Instant
from penstock.sim.link import Link
from penstock.trace.records import LinkSample, QueueSample


@dataclass(frozen=True, slots=True)
class _LinkCounters:
    """A link's counters since the start."""

    sent_bytes: int = 0
    sent_packets: int = 0
    queue_full: int = 0
    loss: int = 0
    down: int = 0
    corrupt: int = 0
    # The rate when these were counted.
    rate_bps: int | None = None

    def totals(self) -> tuple[int, ...]:
        return (
            self.sent_bytes, self.sent_packets,
            self.queue_full, self.loss, self.down, self.corrupt,
        )  # fmt: skip


_NO_COUNTERS: Final = _LinkCounters()


class LinkSamples:
    """Link and queue samples of one network."""

    def __init__(self) -> None:
        self._previous: Final[dict[str, _LinkCounters]] = {}

    def sample(
        self, link: Link[Any], interval_ns: Duration, *, now: Instant
    ) -> tuple[LinkSample, QueueSample]:
        """Traffic since the previous sample, and the queue now."""
        sample = link.sample()
        # Queued frames are counted as sent by the link, but have not left yet.
        counts = _LinkCounters(
            link.sent_bytes - sample.queue_bytes,
            link.sent_frames - sample.queue_frames,
            **link.dropped,
            rate_bps=link.rate_bps,
        )
        previous = self._previous.get(link.name, _NO_COUNTERS)
        # A rate changes between two samples, or together with the first of them.
        capacity_bps = previous.rate_bps or link.rate_bps
        self._previous[link.name] = counts
        since = [a - b for a, b in zip(counts.totals(), previous.totals(), strict=True)]
        return (
            LinkSample(now, link.name, interval_ns, capacity_bps, *since),
            QueueSample(now, link.name, sample.queue_frames, sample.queue_bytes, None),
        )
