"""Whether anybody hears generation 0, of which the rate is controlled.

Whoever gets symbols while nobody is the slowest says what it allows, so when all are silent nothing
arrives. One who is silent among others says nothing by it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import Duration

# All are asked so often in vain before they are given up.
_QUESTIONS: Final = 5
# Fewer symbols may all be lost, where the rate is very low.
_SYMBOLS_MIN: Final = 8


class Silence(Enum):
    """What follows from how long it has been."""

    NONE = auto()
    # All are to be asked whether they are there.
    ASK = auto()
    # Nobody is, or nothing gets there.
    NOBODY = auto()


class SilenceWatch:
    """Of one transfer; looks at regular times, so that a driver that slept gives up nobody."""

    def __init__(self, settings: HeadSettings) -> None:
        self.interval_ns: Final[Duration] = settings.unreached_ns // _QUESTIONS
        self._questions_max: Final = settings.stuck_ns // self.interval_ns
        # Since the last look.
        self._is_heard = False
        self._is_answered = False
        # Since somebody was heard, or all were asked.
        self._symbols = 0
        # Questions since somebody was heard, and of these the last ones that nobody answered.
        self._asked = 0
        self._unanswered = 0

    def heard(self) -> None:
        """Symbols arrive at an end, or it is new."""
        self._is_heard = True

    def answered(self) -> None:
        """An end is there; whether symbols arrive at it is not known."""
        self._is_answered = True

    def sent(self, symbols: int) -> None:
        """Symbols of generation 0 have left."""
        self._symbols += symbols

    def look(self) -> Silence:
        """Call this at each interval."""
        if self._is_heard:
            self._is_heard = self._is_answered = False
            self._symbols = self._asked = self._unanswered = 0
            return Silence.NONE
        if self._symbols < _SYMBOLS_MIN:
            return Silence.NONE
        if self._is_answered:
            self._is_answered, self._unanswered = False, 0
        if self._unanswered == _QUESTIONS or self._asked == self._questions_max:
            return Silence.NOBODY
        self._asked += 1
        self._unanswered += 1
        self._symbols = 0
        return Silence.ASK
