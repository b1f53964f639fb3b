"""When a message left its publisher: known exactly only where publisher and receiver share a trace.

A receiver alone has nothing but the timestamp in the frame, of the publisher's clock. So rows
about received messages ask a `PublicationTimes`, and the driver chooses which.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.kernel.instant import Instant
from penstock.wire.frames.data import Data


class PublicationTimes(Protocol):
    """Knows or estimates when messages were published, in the time of the trace."""

    def on_published(self, frame: Data, now: Instant) -> None:
        """A publisher of this trace sends `frame` now."""

    def published_ns(self, frame: Data, now: Instant) -> Instant:
        """When `frame`, which was received by `now`, left its publisher."""


class RecordedTimes:
    """The times at which publishers of this trace sent: exact, and none of other publishers.

    Sequence numbers of a publisher start at 0 and have no gaps, since none restarts.
    """

    __slots__ = ("_by_publisher",)

    def __init__(self) -> None:
        # By sequence number.
        self._by_publisher: Final[dict[int, list[Instant]]] = {}

    def on_published(self, frame: Data, now: Instant) -> None:
        """Implements `PublicationTimes`."""
        times = self._by_publisher.setdefault(frame.pub, [])
        assert len(times) == frame.seq, "publishers number from 0, without holes"
        times.append(now)

    def published_ns(self, frame: Data, now: Instant) -> Instant:  # noqa: ARG002
        """Implements `PublicationTimes`."""
        return self._by_publisher[frame.pub][frame.seq]
