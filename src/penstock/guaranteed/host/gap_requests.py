"""What a reader asks for again: ranges in doubt within its window, each once until it is answered.

The window bounds what a recovery asks for at once. An answer that does not come is asked for again
after twice the time that answers take, and at growing intervals. That time is measured with
requests that were sent once: of others nobody knows which one was answered (Karn's rule). The same
measurement tells the window what was recovered in a round trip.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.guaranteed.host.request_window import RequestWindow
from penstock.guaranteed.settings import HostSettings
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.guaranteed.base import NACK_RANGES_MAX, TickRange

# So many times as long as answers have taken, that is remembered.
_SLOW_TIMES: Final = 8


class _Probe(msgspec.Struct, frozen=True):
    """A range that is asked for the first time: its end, and where the doubt was, and when."""

    stop: int
    doubt: int
    at: Instant


class GapRequests:
    """The requests of one reader."""

    def __init__(
        self, settings: HostSettings, *, window: RequestWindow, retry_ns: Duration | None = None
    ) -> None:
        self.window: Final = window
        self._range: Final = window.range_size
        # None: it adapts.
        self._fixed_retry_ns: Final = retry_ns
        self._retry_ns: Final = settings.nack_retry_ns
        self._doublings_max: Final = settings.nack_doublings_max
        # How long the last answer took.
        self._answer_ns: Duration = 0
        self._probe: _Probe | None = None
        # For how long the doubt has last stood still although it was asked for again.
        self._is_repeated = False
        self._stood_ns: Duration = 0
        # How long an answer took that was asked for again in vain, and until when that counts: as
        # long as repetitions fill the way, no answer is ever measured.
        self._slow_ns: Duration = 0
        self._slow_until: Instant = 0
        # Whether the last answer came in less than half the time of the one before.
        self._was_quick = False
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
        self._attempts = self._stood_ns = 0
        self._is_repeated = False

    def begin_recovery(self) -> None:
        """Much is missing: the window adapts from here on."""
        self._probe = None
        self.window.begin_recovery()

    def end_recovery(self) -> None:
        """Nothing is missing any more, or little."""
        self.window.end_recovery()

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
            self._moved(now)
            self.open_since = None
            if self._probe is not None and doubt >= self._probe.stop:
                self._round_trip(self._probe, doubt, now)
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
            self._is_repeated = True
            self._probe = None
        ranges = self._new_ranges(doubt, unknown)
        if ranges:
            for start, stop in ranges:
                self._outstanding.add(start, stop)
            last = ranges[-1].stop
            if last > self._asked_stop:
                self._asked_stop = last
                self._probe = self._probe or _Probe(last, doubt, now)
            if self._retry_at is None or now >= self._retry_at:
                self._retry_at = now + self._wait_ns()
        return tuple(ranges)

    def came_again(self, *, now: Instant) -> None:
        """An answer says what was known: the one before was not lost, it has taken its time."""
        if self._stood_ns:
            self._slow_ns = max(self._slow_ns, self._stood_ns)
            self._slow_until = now + _SLOW_TIMES * self._slow_ns
            self._stood_ns = 0

    def _moved(self, now: Instant) -> None:
        stood_ns = 0 if self.open_since is None else now - self.open_since
        if now >= self._slow_until:
            self._slow_ns = 0
        elif 2 * stood_ns >= self._slow_ns:
            self._slow_until = now + _SLOW_TIMES * self._slow_ns
        if self._is_repeated:
            self._stood_ns = stood_ns
        self._is_repeated = False

    def _round_trip(self, probe: _Probe, doubt: int, now: Instant) -> None:
        took_ns = now - probe.at
        self._probe, self._attempts, self._stood_ns = None, 0, 0
        self._was_quick = not self._was_quick and 2 * took_ns < self._answer_ns
        if self._was_quick:
            # Answers may say more than was asked for: it may have come for an earlier request. The
            # next one tells.
            return
        self._answer_ns = took_ns
        if self._answer_ns:
            # Else it came from the relay of this broker, and is no measure of the network.
            self.window.on_round_trip(doubt - probe.doubt, self._answer_ns)

    def _wait_ns(self) -> Duration:
        if self._fixed_retry_ns is not None:
            return self._fixed_retry_ns
        doublings = min(self._attempts, self._doublings_max)
        wait_ns = max(self._retry_ns, 2 * self._answer_ns) << doublings
        return max(wait_ns, 2 * self._slow_ns)

    def _new_ranges(self, doubt: int, unknown: list[tuple[int, int]]) -> list[TickRange]:
        """Ranges of equal length, at fixed places, so that several readers ask for the same."""
        ranges: list[TickRange] = []
        limit = self._limit(doubt)
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

    def _limit(self, doubt: int) -> int:
        """Whole ranges only: else each message that arrives would have a sliver asked for."""
        limit = doubt + self.window.size
        whole = limit - limit % self._range
        return whole if whole > doubt else limit
