"""What TCP connections did between two samples, for the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.kernel.instant import Instant
from penstock.sim.tcp import TcpConnection, TcpCounts
from penstock.trace.records import TcpSample


class TcpSamples:
    """Of one network."""

    def __init__(self) -> None:
        # What each had done at the sample before.
        self._previous: Final[dict[TcpConnection, TcpCounts]] = {}

    def add(self, connection: TcpConnection) -> None:
        """One more."""
        self._previous[connection] = TcpCounts()

    def sample(self, *, now: Instant) -> Iterator[TcpSample]:
        """One for each connection."""
        for connection, previous in self._previous.items():
            counts, sender = connection.counts(), connection.sender
            self._previous[connection] = counts
            since = TcpCounts(*[a - b for a, b in zip(counts, previous, strict=True)])
            link, window = connection.link_name, sender.window.size
            yield TcpSample(now, connection.name, link, *since, window, sender.srtt_ns)
