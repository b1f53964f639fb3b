"""Samples of TCP connections: counts per interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.kernel.instant import Instant
from penstock.sim.tcp import TcpConnection, TcpCounts
from penstock.trace.records import TcpSample


class TcpSamples:
    """TCP samples of one network."""

    def __init__(self) -> None:
        # The counts of each connection at the previous sample.
        self._previous: Final[dict[TcpConnection, TcpCounts]] = {}

    def add(self, connection: TcpConnection) -> None:
        """Adds a connection."""
        self._previous[connection] = TcpCounts()

    def sample(self, *, now: Instant) -> Iterator[TcpSample]:
        """One sample per connection."""
        for connection, previous in self._previous.items():
            counts, sender = connection.counts(), connection.sender
            self._previous[connection] = counts
            since = TcpCounts(*[a - b for a, b in zip(counts, previous, strict=True)])
            link, window = connection.link_name, sender.window.size
            yield TcpSample(now, connection.name, link, *since, window, sender.srtt_ns)
