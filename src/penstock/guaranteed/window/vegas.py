"""The window by what waits in the network, after TCP Vegas.

What the window would recover in the shortest round trip, less what was recovered, is what waits in
queues. Until the first step waits, the window doubles; then it keeps between one and three.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.window.base import WindowSettings
from penstock.kernel.instant import Duration

_OPENS_BELOW: Final = 1
_CLOSES_ABOVE: Final = 3


class VegasWindow:
    """Opens while less than a step waits in the network, closes while more than three do."""

    def __init__(self, settings: WindowSettings, *, doubles: bool = True) -> None:
        self._settings: Final = settings
        self._doubles: Final = doubles
        self.size_ms = settings.first_ms
        self._is_doubling = doubles
        self._shortest_ns: Duration | None = None

    def begin(self) -> None:
        """See `NackWindow`; the way may be another one than last time."""
        self.size_ms = self._settings.first_ms
        self._is_doubling = self._doubles
        self._shortest_ns = None

    def on_round_trip(self, recovered_ms: float, rtt_ns: Duration) -> None:
        """See `NackWindow`."""
        shortest_ns = self._shortest_ns
        if shortest_ns is None or rtt_ns < shortest_ns:
            shortest_ns = self._shortest_ns = max(1, rtt_ns)
        # [G5] Backlog in steps: a relative rule stops opening where a step is a small share.
        waiting_ms = self.size_ms - recovered_ms * shortest_ns / max(1, rtt_ns)
        waiting = waiting_ms / self._settings.step_ms
        if self._is_doubling and waiting < _OPENS_BELOW:
            self._resize(2 * self.size_ms)
            return
        self._is_doubling = False
        if waiting < _OPENS_BELOW:
            self._resize(self.size_ms + self._settings.step_ms)
        elif waiting > _CLOSES_ABOVE:
            self._resize(self.size_ms - self._settings.step_ms)

    def _resize(self, size_ms: int) -> None:
        self.size_ms = min(max(size_ms, self._settings.first_ms), self._settings.max_ms)
