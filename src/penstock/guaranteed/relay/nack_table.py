"""Who has asked a relay for what, and what the relay itself has asked its parent for.

A tick is asked of the parent once, for all children, until the answer comes or the request is taken
for lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.kernel.interval_set import IntervalSet
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import NACK_RANGES_MAX, ReaderId, TickRange
from penstock.wire.frames.guaranteed.requests import Nack

# A child that still waits has asked again by then, and what was learned meanwhile is cached.
_FORGOTTEN_NS: Final[Duration] = 30 * SECOND

# A child, or a reader behind one that everybody's answer is for, too.
Asker: TypeAlias = Port | ReaderId


class NackTable:
    """Of one pubend, without what the parent is asked for in the name of a reader."""

    def __init__(self, outstanding_ns: Duration) -> None:
        self._outstanding_ns: Final = outstanding_ns
        # What each child waits for, and has asked for in this period or the one before: it may have
        # got it by an earlier request, and never ask again for what was lost on its way here.
        self._asked_by: dict[Asker, IntervalSet] = {}
        self._asked_before: dict[Asker, IntervalSet] = {}
        self._asked_since: Instant = 0
        # What the parent was asked for in this period and in the one before: two generations
        # instead of a timer for every range.
        self._young = IntervalSet()
        self._old = IntervalSet()
        self._young_since: Instant = 0

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not any(self._asked_by.values()) and not any(self._asked_before.values())

    @property
    def ranges(self) -> int:
        """How many ranges children wait for."""
        return sum(map(len, (*self._asked_by.values(), *self._asked_before.values())))

    def ask(self, asker: Asker, start: int, stop: int, *, now: Instant) -> list[TickRange]:
        """Notes what a child asks for; returns what the parent is to be asked for."""
        self._age(now)
        self._asked_by.setdefault(asker, IntervalSet()).add(start, stop)
        if asker in self._asked_before:
            self._asked_before[asker].remove(start, stop)
        wanted = []
        for begin, end in self._young.missing(start, stop):
            wanted += [TickRange(*each) for each in self._old.missing(begin, end)]
        for begin, end in wanted:
            self._young.add(begin, end)
        return wanted

    def answer(self, start: int, stop: int, *, now: Instant) -> list[tuple[Asker, list[TickRange]]]:
        """Takes an answer; returns which child waited for which part of it."""
        self._age(now)
        self._young.remove(start, stop)
        self._old.remove(start, stop)
        found = []
        for asked in (self._asked_before, self._asked_by):
            for asker, ranges in asked.items():
                own = [TickRange(*each) for each in ranges.overlap(start, stop)]
                if own:
                    ranges.remove(start, stop)
                    found.append((asker, own))
        return found

    def forget(self, asker: Asker) -> None:
        """It is gone; what was asked for it is still answered to others."""
        self._asked_by.pop(asker, None)
        self._asked_before.pop(asker, None)

    def forget_parent(self) -> None:
        """Requests to the parent are lost; children ask again, here or at another relay."""
        self._asked_by.clear()
        self._asked_before.clear()
        self._young.clear()
        self._old.clear()

    def _age(self, now: Instant) -> None:
        if now - self._asked_since >= _FORGOTTEN_NS:
            self._asked_before, self._asked_by = self._asked_by, {}
            self._asked_since = now
        if now - self._young_since < self._outstanding_ns:
            return
        is_long_ago = now - self._young_since >= 2 * self._outstanding_ns
        self._old = IntervalSet() if is_long_ago else self._young
        self._young = IntervalSet()
        self._young_since = now


def nacks_of(
    pubend: int, ranges: Sequence[TickRange], reader: ReaderId | None = None
) -> list[Nack]:
    """Requests for these ranges, as few as it takes."""
    return [
        Nack(pubend=pubend, ranges=tuple(ranges[at : at + NACK_RANGES_MAX]), reader=reader)
        for at in range(0, len(ranges), NACK_RANGES_MAX)
    ]
