"""How long the disk takes to sync: the last measurements of a driver, which a status tells of."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import Duration

SAMPLES_MAX: Final = 1_000


class SyncTimes:
    """Filled by the thread that writes, read by another one."""

    def __init__(self) -> None:
        self._samples: Final[deque[Duration]] = deque(maxlen=SAMPLES_MAX)
        self.last_ns: Duration = 0

    def add(self, duration_ns: Duration) -> None:
        """A sync took so long."""
        self._samples.append(duration_ns)
        self.last_ns = duration_ns

    def quantile(self, share: float) -> Duration | None:
        """The time within which that share of the last syncs was done; None before the first."""
        # A copy is made at once, whatever the other thread does meanwhile.
        samples = sorted(self._samples.copy())
        return samples[min(int(share * len(samples)), len(samples) - 1)] if samples else None
