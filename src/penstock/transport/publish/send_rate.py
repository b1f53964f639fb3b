"""The send rate that a publisher advertises; knows only the times of sending."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant


class SendRate:
    """Messages per second: this interval's count and the previous one's, weighted by overlap."""

    __slots__ = ("_count", "_interval_ns", "_previous_count", "_start")

    def __init__(self, interval_ns: Duration) -> None:
        self._interval_ns: Final = interval_ns
        self._start: Instant | None = None
        self._count = 0
        # None during the first interval.
        self._previous_count: int | None = None

    def on_sent(self, now: Instant) -> float:
        """Count a message, and return the rate in messages per second."""
        if self._start is None:
            self._start = now
        elapsed_ns = now - self._start
        if elapsed_ns >= self._interval_ns:
            intervals = elapsed_ns // self._interval_ns
            self._previous_count = self._count if intervals == 1 else 0
            self._count = 0
            self._start += intervals * self._interval_ns
            elapsed_ns = now - self._start
        self._count += 1
        if self._previous_count is None:
            # In the first interval, average over the elapsed time, at least a tenth of it.
            return self._count * 1e9 / max(elapsed_ns, self._interval_ns / 10)
        return (
            (self._previous_count * (1 - elapsed_ns / self._interval_ns) + self._count)
            * 1e9
            / self._interval_ns
        )
