"""How far ahead of its doubt horizon a reader asks for repairs, and in ranges of which length.

A recovery asks for as much at once as its law says; all the time else a law that adapts waits at
its first window, so that a short gap is not answered by a flood.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.tick import TICKS_PER_MS, duration_ticks
from penstock.guaranteed.window.base import NackWindow, WindowSettings
from penstock.guaranteed.window.literal import LiteralWindow
from penstock.guaranteed.window.vegas import VegasWindow
from penstock.kernel.instant import MILLISECOND, Duration

# Without a window everything is asked for at once, in ranges that are longer by this.
_LONG_RANGE: Final = 6


class RequestWindow(Protocol):
    """The window of one reader."""

    @property
    def size(self) -> int:
        """How many ticks ahead it may ask now."""

    @property
    def range_size(self) -> int:
        """The length in ticks of one range that is asked for."""

    def begin_recovery(self) -> None:
        """Much is missing from now on."""

    def end_recovery(self) -> None:
        """Nothing is, or little."""

    def on_round_trip(self, recovered: int, rtt_ns: Duration) -> None:
        """The doubt horizon has moved by so many ticks in one round trip."""


class FixedWindow:
    """The same at all times."""

    def __init__(self, size: int, *, range_size: int) -> None:
        self.size: Final = size
        self.range_size: Final = range_size

    def begin_recovery(self) -> None:
        """See `RequestWindow`."""

    def end_recovery(self) -> None:
        """See `RequestWindow`."""

    def on_round_trip(self, recovered: int, rtt_ns: Duration) -> None:
        """See `RequestWindow`."""


class AdaptedWindow:
    """Follows a law in a recovery."""

    def __init__(self, law: NackWindow, *, range_size: int) -> None:
        self._law: Final = law
        self.range_size: Final = range_size
        self._is_recovering = False
        self._first = self.size = law.size_ms * TICKS_PER_MS

    def begin_recovery(self) -> None:
        """See `RequestWindow`; what was found in another one no longer counts."""
        self._is_recovering = True
        self._law.begin()
        self.size = self._law.size_ms * TICKS_PER_MS

    def end_recovery(self) -> None:
        """See `RequestWindow`."""
        self._is_recovering = False
        self.size = self._first

    def on_round_trip(self, recovered: int, rtt_ns: Duration) -> None:
        """See `RequestWindow`."""
        if self._is_recovering:
            self._law.on_round_trip(recovered / TICKS_PER_MS, rtt_ns)
            self.size = self._law.size_ms * TICKS_PER_MS


def request_window(settings: HostSettings, congestion: CongestionSettings) -> RequestWindow:
    """The window of a new reader."""
    range_size = duration_ticks(settings.nack_range_ns)
    name = congestion.window_law
    if name == "none":
        receive_window = duration_ticks(settings.receive_window_ns)
        return FixedWindow(receive_window, range_size=_LONG_RANGE * range_size)
    if name == "fixed":
        return FixedWindow(duration_ticks(settings.nack_window_ns), range_size=range_size)
    step_ms = settings.nack_range_ns // MILLISECOND
    bounds = WindowSettings(
        first_ms=step_ms, step_ms=step_ms, max_ms=settings.receive_window_ns // MILLISECOND
    )
    law: NackWindow
    if name == "literal":
        law = LiteralWindow(bounds)
    else:
        law = VegasWindow(bounds, doubles=congestion.window_doubles)
    return AdaptedWindow(law, range_size=range_size)


def window_size_max(settings: HostSettings, congestion: CongestionSettings) -> int:
    """The most ticks ahead that any reader asks for."""
    is_fixed = congestion.window_law == "fixed"
    return duration_ticks(settings.nack_window_ns if is_fixed else settings.receive_window_ns)
