"""What readers wanted whose connection was lost a moment ago: most of them come back.

Until then the filter stays as it is. Else each would find that reader 0 has gone on in silence, and
would read by itself what it has missed, beside what is new.
"""

from __future__ import annotations

from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import Duration, Instant

_PREDICATES_MAX: Final = 16


class Lingering:
    """Of one pubend at one host."""

    def __init__(self, lingers_ns: Duration) -> None:
        self._lingers_ns: Final = lingers_ns
        # Until when; the first one goes first.
        self._until: Final[dict[Predicate, Instant]] = {}

    @property
    def predicates(self) -> list[Predicate]:
        """What is still wanted."""
        return list(self._until)

    def keep(self, predicate: Predicate, *, now: Instant) -> None:
        """Somebody who wanted this was lost."""
        self._until.pop(predicate, None)
        self._until[predicate] = now + self._lingers_ns
        if len(self._until) > _PREDICATES_MAX:
            del self._until[next(iter(self._until))]

    def expire(self, *, now: Instant) -> bool:
        """Whether anything has been wanted for too long by nobody; it no longer is."""
        gone = [predicate for predicate, until in self._until.items() if until <= now]
        for predicate in gone:
            del self._until[predicate]
        return bool(gone)

    def clear(self) -> None:
        """Nobody comes back."""
        self._until.clear()

    def next_wakeup(self) -> Instant | None:
        """When the first one goes."""
        return next(iter(self._until.values()), None)
