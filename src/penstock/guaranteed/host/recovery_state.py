"""Whether reader 0 recovers: it is so far behind that it cannot keep what is new.

While it does, it asks for much at once and tells publishers that it needs more than they send; else
it only keeps up. How far the pubend is says when that ends, and never that something is missing:
what the pubend has said since may still be queued.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import SECOND, Instant

# In stream time: so near to the newest tick a recovery ends.
NEAR: Final = duration_ticks(1 * SECOND)
# And nothing was ignored for so long.
QUIET_NS: Final = 2 * SECOND


class RecoveryState:
    """Of one reader with a receive window of so many ticks."""

    def __init__(self, window: int) -> None:
        self._window: Final = window
        # Much nearer than where it begins, whatever the window is.
        self._near: Final = min(NEAR, window // 2)
        self.is_recovering = False
        self._ignored_at: Instant | None = None
        # A time at which it may end, if nothing happens until then.
        self.ends_at: Instant | None = None

    def is_beyond(self, doubt: int, evidence: int) -> bool:
        """Whether there is more than the receive window takes."""
        return evidence > doubt + self._window

    def begin(self) -> None:
        """There is."""
        self.is_recovering = True

    def ignored(self, *, now: Instant) -> None:
        """Something beyond the receive window has come, and was not kept."""
        self._ignored_at = now

    def review(self, doubt: int, newest: int, *, now: Instant) -> None:
        """May end it; `newest` is the first tick that is not decided, as far as anybody knows."""
        self.ends_at = None
        if not self.is_recovering or doubt < newest - self._near:
            return
        quiet_at = now if self._ignored_at is None else self._ignored_at + QUIET_NS
        if now >= quiet_at:
            self.is_recovering = False
            self._ignored_at = None
        else:
            self.ends_at = quiet_at
