"""What a reader asks for again: ranges in doubt within its window, each once until it is answered.

The fixed window bounds what a recovery asks for at once. An answer that does not come is asked for
again after twice the time that answers take, and at growing intervals. That time is measured with
requests that were sent once: of others nobody knows which one was answered (Karn's rule).
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.guaranteed.base import NACK_RANGES_MAX, TickRange


class GapRequests:
    """The requests of one reader."""

    def __init__(self, settings: HostSettings) -> None:
        self._window: Final = duration_ticks(settings.nack_window_ns)
        self._range: Final = duration_ticks(settings.nack_range_ns)
        self._retry_ns: Final = settings.nack_retry_ns
        self._doublings_max: Final = settings.nack_doublings_max
        self._adapts: Final = settings.nack_retry_adapts
        # How long the last answer took, and a range that is asked for the first time: its end, and
        # since when.
        self._answer_ns: Duration = 0
        self._probe: tuple[int, Instant] | None = None
        self._asked_stop = 0
        self._outstanding: Final = IntervalSet()
        self._attempts = 0
        self._retry_at: Instant | None = None
        # Where the doubt began when it was last asked for, and since when it begins there.
        self._asked_from = -1
        self.open_since: Instant | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is outstanding."""
        return not self._outstanding

    def clear(self) -> None:
        """Requests are lost, as with a link."""
        self._outstanding.clear()
        self._retry_at = self._probe = None
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
            self._asked_from = doubt
            self.open_since = None
            if self._probe is not None and doubt >= self._probe[0]:
                self._answer_ns, self._probe, self._attempts = now - self._probe[1], None, 0
            if self._retry_at is not None:
                self._retry_at = now + self._wait_ns()
        if not unknown:
            self.clear()
            self.open_since = None
            return ()
        if self.open_since is None:
            self.open_since = now
        if self._retry_at is not None and now >= self._retry_at:
            self._outstanding.clear()
            self._attempts += 1
            self._probe = None
        ranges = self._new_ranges(doubt, unknown)
        if ranges:
            for start, stop in ranges:
                self._outstanding.add(start, stop)
            last = ranges[-1].stop
            if last > self._asked_stop:
                self._asked_stop = last
                self._probe = self._probe or (last, now)
            if self._retry_at is None or now >= self._retry_at:
                self._retry_at = now + self._wait_ns()
        return tuple(ranges)

    def _wait_ns(self) -> Duration:
        if not self._adapts:
            return self._retry_ns
        doublings = min(self._attempts, self._doublings_max)
        return max(self._retry_ns, 2 * self._answer_ns) << doublings

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
