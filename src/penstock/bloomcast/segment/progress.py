"""Whether what an end needs shrinks, from one generation to the next.

One that hears END and gets no symbols answers for ever, and would be sent repairs for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.report import Report


class Progress:
    """Of one end, about one question."""

    __slots__ = ("_counts", "_generations", "_needs", "_since")

    def __init__(self) -> None:
        # What it needed last of each block; how many at and below it are done, and all.
        self._needs: Mapping[int, int] = {}
        self._counts = (0, 0)
        # When something of this shrank or changed last, and the generations that were sent since.
        self._since: Instant = 0
        self._generations = 0

    def note(self, needs: Mapping[int, int], counts: tuple[int, int], now: Instant) -> None:
        """What it needed of a generation that has been sent."""
        has_changed = not self._needs or counts != self._counts or self._is_less(needs)
        self._needs, self._counts = needs, counts
        if has_changed:
            self._since, self._generations = now, 0
        else:
            self._generations += 1

    def _is_less(self, needs: Mapping[int, int]) -> bool:
        return any(needs.get(block, 0) < before for block, before in self._needs.items())

    def has_ceased(self, settings: HeadSettings, now: Instant, *, is_relay: bool) -> bool:
        """Whether others are kept waiting no longer."""
        # The head below, if there is one, is to give up those who are stuck, and nobody else.
        times = 2 if is_relay else 1
        has_had_all = self._generations >= times * settings.stuck_generations
        return has_had_all and now - self._since >= times * settings.stuck_ns

    def shows(self, header: Header, report: Report) -> bool:
        """Whether one who was given up needs less, by what it says now."""
        if report.done == report.total:
            return True
        if header.flags & (Flag.OPENING | Flag.ALL):
            # This says which blocks, and not how much of each.
            return False
        needs = dict(report.needs)
        for block, ranges in report.ranges:
            size = sum(each.stop - each.start for each in ranges)
            needs[block] = needs.get(block, 0) + size
        if report.parts > 1:
            # What is not named may be in other parts, as may more of what is listed.
            return any(need < self._needs.get(block, 0) for block, need in report.needs)
        return self._is_less(needs)
