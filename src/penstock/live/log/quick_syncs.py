"""Whether a disk syncs so quickly that it is not worth waking another thread for it."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration

# Whoever waits for a sync does nothing else meanwhile.
LIMIT_NS: Final = 1 * MILLISECOND
TRY_AGAIN_NS: Final = 1 * SECOND
# The weight of one sync in the average of the last ones.
_WEIGHT: Final = 1 / 8


class QuickSyncs:
    """Quick while the last syncs were, on average; after slow ones, one is tried now and then."""

    def __init__(
        self, limit_ns: Duration = LIMIT_NS, *, try_again_ns: Duration = TRY_AGAIN_NS
    ) -> None:
        self._limit_ns: Final = limit_ns
        self._try_again_ns: Final = try_again_ns
        self._average_ns = 0.0
        self._last_at_ns = 0

    def add(self, duration_ns: Duration, *, now_ns: int) -> None:
        """A sync that was waited for took so long."""
        self._average_ns += (duration_ns - self._average_ns) * _WEIGHT
        self._last_at_ns = now_ns

    def is_quick(self, *, now_ns: int) -> bool:
        """Whether to wait for the next one."""
        return self._average_ns < self._limit_ns or now_ns >= self._last_at_ns + self._try_again_ns
