"""What a pubend appends to its log: records, and a lease ahead of all ticks that are said.

Each append stores the lease as it is then; while nothing is published, it is renewed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.guaranteed.stream_clock import StreamClock
from penstock.kernel.instant import MILLISECOND, Duration, Instant

# How soon a lease is asked for again that the disk has not stored yet.
_RETRY_NS: Final[Duration] = 500 * MILLISECOND


class LogWriter:
    """Of one pubend."""

    def __init__(self, log: str, *, disk: Disk, clock: StreamClock, next_number: int) -> None:
        # The number of the next record.
        self.next_number = next_number
        self._log: Final = log
        self._disk: Final = disk
        self._clock: Final = clock
        self._lease_asked_at: Instant = 0

    def append(self, records: Sequence[LogRecord | LogSnapshot], now: Instant) -> None:
        """Appends records, with the lease."""
        self.next_number += len(records)
        self._disk.append(self._log, self.next_number - 1, records, self._clock.lease(now))

    def append_lease(self, now: Instant) -> None:
        """Stores the lease as it is now."""
        self._lease_asked_at = now
        self.append((), now)

    def wake(self, *, now: Instant) -> None:
        """Renews the lease."""
        if self._clock.needs_renewal(now) and now >= self._lease_asked_at + _RETRY_NS:
            self.append_lease(now)

    def next_wakeup(self) -> Instant:
        """When it has to be renewed."""
        return max(self._clock.renewal_at, self._lease_asked_at + _RETRY_NS)
