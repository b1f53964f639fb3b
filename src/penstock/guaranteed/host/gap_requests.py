"""What a reader asks for again: ranges in doubt within its window, each once until it is answered.

The fixed window bounds what a recovery asks for at once; an answer that does not come is asked for
again, at growing intervals.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant
from penstock.kernel.interval_set import IntervalSet
from penstock.kernel.retry import Backoff
from penstock.wire.frames.guaranteed.base import NACK_RANGES_MAX, TickRange


class GapRequests:
    """The requests of one reader."""

    def __init__(self, settings: HostSettings) -> None:
        self._window: Final = duration_ticks(settings.nack_window_ns)
        self._range: Final = duration_ticks(settings.nack_range_ns)
        self._backoff: Final = Backoff(
            first_ns=settings.nack_retry_ns, doublings_max=settings.nack_doublings_max
        )
        self._outstanding: Final = IntervalSet()
        self._attempts = 0
        self._retry_at: Instant | None = None
        # Where the doubt began when it was last asked for.
        self._asked_from = -1

    @property
    def is_idle(self) -> bool:
        """Whether nothing is outstanding."""
        return not self._outstanding

    def clear(self) -> None:
        """Requests are lost, as with a link."""
        self._outstanding.clear()
        self._retry_at = None
        self._attempts = 0

    def next_wakeup(self) -> Instant | None:
        """When to ask again."""
        return self._retry_at

    def due(
        self, doubt: int, unknown: list[tuple[int, int]], *, now: Instant
    ) -> tuple[TickRange, ...]:
        """What to ask for now, of the ticks that are in doubt; the first is `doubt` itself."""
        if doubt != self._asked_from:
            # It moves: the oldest request was answered, and others may be on their way.
            self._outstanding.remove_below(doubt)
            self._asked_from, self._attempts = doubt, 0
            if self._retry_at is not None:
                self._retry_at = now + self._backoff.wait_ns(0)
        if not unknown:
            self.clear()
            return ()
        if self._retry_at is not None and now >= self._retry_at:
            self._outstanding.clear()
            self._attempts += 1
        ranges = self._new_ranges(doubt, unknown)
        if ranges:
            for start, stop in ranges:
                self._outstanding.add(start, stop)
            if self._retry_at is None or now >= self._retry_at:
                self._retry_at = now + self._backoff.wait_ns(self._attempts)
        return tuple(ranges)

    def _new_ranges(self, doubt: int, unknown: list[tuple[int, int]]) -> list[TickRange]:
        """Ranges of equal length, at fixed places, so that several readers ask for the same."""
        ranges: list[TickRange] = []
        limit = doubt + self._window
        for begin, end in unknown:
            for start, stop in (
                self._outstanding.missing(begin, min(end, limit)) if begin < limit else ()
            ):
                at = start
                while at < stop and len(ranges) < NACK_RANGES_MAX:
                    behind = min(stop, at - at % self._range + self._range)
                    ranges.append(TickRange(at, behind))
                    at = behind
        return ranges
