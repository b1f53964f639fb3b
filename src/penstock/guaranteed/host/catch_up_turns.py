"""Whose turn it is to catch up: few have a reader of their own at a time, others wait in line.

One that takes nothing for a while gives its reader up to the first in line, and waits itself once
it can take something again.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Final

from penstock.guaranteed.host.feed import Feed
from penstock.kernel.instant import SECOND, Duration, Instant

# A program that reads has credit again long before.
IDLE_NS: Final[Duration] = 1 * SECOND


class CatchUpTurns:
    """The line at one pubend."""

    def __init__(self, readers_max: int) -> None:
        self._readers_max: Final = readers_max
        self._waiting: Final[dict[Feed, None]] = {}
        # Of those that have a reader and no credit: since when, as far as somebody waited.
        self._idle_since: Final[dict[Feed, Instant]] = {}

    def is_due(self, feed: Feed, reading: Collection[Feed], *, now: Instant) -> bool:
        """Whether there is a reader left for a feed that could take something; if not, it waits."""
        waiting = self._waiting
        waiting[feed] = None
        while (first := next(iter(waiting))) is not feed and not first.may_read(now):
            del waiting[first]
        free = self._readers_max - len(reading)
        return free > 0 and feed in islice(waiting, free)

    def find_idle(self, feed: Feed, reading: Collection[Feed], *, now: Instant) -> Feed | None:
        """Who has to make room for a feed that waits: only the first in line may ask for it."""
        if next(iter(self._waiting)) is not feed:
            return None
        found = None
        for each in reading:
            if each.subscription.has_credit:
                self._idle_since.pop(each, None)
            elif now - self._idle_since.setdefault(each, now) >= IDLE_NS:
                found = found or each
        return found

    def took(self, feed: Feed) -> None:
        """It has credit again."""
        if self._idle_since:
            self._idle_since.pop(feed, None)

    def leave(self, feed: Feed) -> None:
        """It has a reader now, or needs none."""
        self._waiting.pop(feed, None)
        self._idle_since.pop(feed, None)
