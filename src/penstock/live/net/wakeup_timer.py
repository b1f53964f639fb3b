"""The one timer of a driver: calls back when its machine wants to wake up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic_ns
from typing import Final

from penstock.kernel.instant import SECOND, Instant


class WakeupTimer:
    """A timer that turns out to be early is armed again, so only earlier deadlines cost."""

    __slots__ = ("_armed_for", "_handle", "_loop", "_on_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_timer: Callable[[], object]) -> None:
        self._loop: Final = loop
        self._on_timer: Final = on_timer
        self._handle: asyncio.TimerHandle | None = None
        self._armed_for: Instant = 0

    def arm(self, wakeup: Instant | None) -> None:
        """Calls back at `wakeup`, or before; None: not because of this call."""
        if wakeup is None:
            return
        if self._handle is not None:
            if self._armed_for <= wakeup:
                return
            self._handle.cancel()
        self._armed_for = wakeup
        delay_s = max(0, wakeup - monotonic_ns()) / SECOND
        self._handle = self._loop.call_later(delay_s, self._fire)

    def cancel(self) -> None:
        """Calls back no more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        self._on_timer()
