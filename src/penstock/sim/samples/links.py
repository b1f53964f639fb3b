"""The state of a simulated link, as samples need it."""

from __future__ import annotations

from typing import Any

from penstock.sim.link import Link
from penstock.tracing.samples.links import LinkState


def link_state(link: Link[Any]) -> LinkState:
    """The counters of a link and its queue."""
    sample = link.sample()
    return LinkState(
        # Queued frames are counted as sent by the link, but have not left yet.
        sent_bytes=link.sent_bytes - sample.queue_bytes,
        sent_packets=link.sent_frames - sample.queue_frames,
        **link.dropped,
        rate_bps=link.rate_bps,
        queue_packets=sample.queue_frames,
        queue_bytes=sample.queue_bytes,
    )
