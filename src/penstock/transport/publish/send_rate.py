"""The rate that a publisher advertises; knows only when messages left."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant


class SendRate:
    """Messages a second over the last stretch: what is sent in this one, and a part of the last."""

    __slots__ = ("_count", "_interval_ns", "_previous_count", "_start")

    def __init__(self, interval_ns: Duration) -> None:
        self._interval_ns: Final = interval_ns
        self._start: Instant | None = None
        self._count = 0
        # None while the first stretch lasts.
        self._previous_count: int | None = None

    def on_sent(self, now: Instant) -> float:
        """One more; the rate with it."""
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
            # The first stretch is not over: what was sent is all that is known.
            return self._count * 1e9 / max(elapsed_ns, self._interval_ns / 10)
        return (
            (self._previous_count * (1 - elapsed_ns / self._interval_ns) + self._count)
            * 1e9
            / self._interval_ns
        )
