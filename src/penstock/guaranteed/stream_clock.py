"""The clock of one pubend: gives ticks that are never given twice, not even after a restart.

Stream time runs with the monotonic clock, and starts at the wall clock or above the *lease* that
the log has kept, whichever is later. A lease is a promise in the log: no tick above it is said
before a higher one is synced. So a pubend that starts again above it says nothing twice, whatever
its wall clock shows by then.

Knows nothing of logs: which lease is synced, and what may be said under it, is the pubend's to
know.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.tick import duration_ticks, ms_of, tick_of
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

# How far ahead a lease lies, and how much of it is left when the next one is due.
LEASE_NS: Final[Duration] = 2 * SECOND
RENEWAL_NS: Final[Duration] = SECOND
SET_BACK_NS: Final[Duration] = 60 * SECOND

_LEASE_TICKS: Final = duration_ticks(LEASE_NS)
_RENEWAL_TICKS: Final = duration_ticks(RENEWAL_NS)


class StreamClock:
    """Stream time, and beside it the wall clock, which it does not depend on once it runs."""

    __slots__ = (
        "_latest",
        "_latest_tick",
        "_lease",
        "_wall_offset_ns",
        "_zero",
        "is_wall_behind_lease",
        "last",
        "was_wall_set_back",
    )

    def __init__(self, started: Instant, wall_ms: int, lease: int) -> None:
        """`lease` is the one that the log has kept, 0 for a new log."""
        lease_ms = ms_of(lease)
        # The instant at which stream time was 0.
        self._zero = started - max(wall_ms, lease_ms + 1) * MILLISECOND
        self._latest = started
        # The tick of that instant, since many messages come at one.
        self._latest_tick = tick_of((started - self._zero) // MILLISECOND)
        self._lease = lease
        self._wall_offset_ns: Duration = wall_ms * MILLISECOND - started
        # The last tick that a message got; before the first one, none up to the lease is free.
        self.last = lease
        # After a quick restart it is: the lease lies ahead of the time when it was written.
        self.is_wall_behind_lease: Final = wall_ms <= lease_ms
        # Further behind than some quick restarts explain, each of which moves stream time ahead.
        self.was_wall_set_back: Final = (lease_ms - wall_ms) * MILLISECOND > SET_BACK_NS

    def now_tick(self, now: Instant) -> int:
        """The first tick of this millisecond of stream time.

        No message gets a tick before it any more, unless it has it already; one at this very tick
        may still come, so silence may be said up to, but not including it.
        """
        if now != self._latest:
            self._move_to(now)
        return self._latest_tick

    def next_tick(self, now: Instant) -> int:
        """The tick of a new message: that of the clock, or the one after the last message."""
        tick = self.now_tick(now)
        self.last = tick if tick > self.last else self.last + 1
        return self.last

    def next_ticks(self, count: int, now: Instant) -> range:
        """The ticks of new messages that come together."""
        first = self.next_tick(now)
        self.last = first + count - 1
        return range(first, first + count)

    def lease(self, now: Instant) -> int:
        """A tick 2 s ahead, for the log to keep; it never moves back."""
        ahead = self.now_tick(now) + _LEASE_TICKS
        self._lease = max(self._lease, ahead)
        return self._lease

    def needs_renewal(self, now: Instant) -> bool:
        """Whether only 1 s of the last lease is left."""
        return self._lease - self.now_tick(now) <= _RENEWAL_TICKS

    @property
    def renewal_at(self) -> Instant:
        """When `needs_renewal` becomes true."""
        return self._zero + ms_of(self._lease) * MILLISECOND - RENEWAL_NS

    def set_wall(self, wall_ns: int, now: Instant) -> None:
        """Says what the wall clock shows, in Unix nanoseconds; stream time does not change."""
        self._wall_offset_ns = wall_ns - now

    def published_ns(self, now: Instant) -> int:
        """What the wall clock shows at `now`, in Unix nanoseconds."""
        return self._wall_offset_ns + now

    def _move_to(self, now: Instant) -> None:
        if now < self._latest:
            # Monotonic clocks do not go back, but simulated ones do: stream time goes on from where
            # it was.
            self._zero -= self._latest - now
        self._latest = now
        self._latest_tick = tick_of((now - self._zero) // MILLISECOND)
