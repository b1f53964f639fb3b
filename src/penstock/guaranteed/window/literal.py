"""The window as the paper has it: by how the recovery rate has changed since the last round trip.

The rate is what the window offers, window / round trip. Beyond a thousand milliseconds a step is
less than a tenth of the window: there it stops opening, however much the network could carry [G5].
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.window.base import WindowSettings
from penstock.kernel.instant import Duration


class LiteralWindow:
    """Opens after a rise of the rate by a tenth, closes after a fall by three tenths."""

    def __init__(self, settings: WindowSettings) -> None:
        self._settings: Final = settings
        self.size_ms = settings.first_ms
        # Window and round trip of the last time.
        self._before: tuple[int, Duration] | None = None

    def begin(self) -> None:
        """See `NackWindow`."""
        self.size_ms = self._settings.first_ms
        self._before = None

    def on_round_trip(self, recovered_ms: float, rtt_ns: Duration) -> None:  # noqa: ARG002
        """See `NackWindow`; what was recovered does not matter here."""
        rtt_ns = max(1, rtt_ns)
        before, self._before = self._before, (self.size_ms, rtt_ns)
        if before is None:
            # [G6] The first round trip has nothing to be compared with.
            self._resize(self._settings.step_ms)
            return
        # Rates are compared in whole numbers: new / old = new_rate / old_rate.
        new, old = self.size_ms * before[1], before[0] * rtt_ns
        if 10 * (new - old) >= old:
            self._resize(self._settings.step_ms)
        elif 10 * (old - new) >= 3 * old:
            self._resize(-self._settings.step_ms)

    def _resize(self, by_ms: int) -> None:
        settings = self._settings
        self.size_ms = min(max(self.size_ms + by_ms, settings.first_ms), settings.max_ms)
