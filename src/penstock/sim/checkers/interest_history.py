"""What applications ask for, and since when: the ground truth that checkers judge by.

Kept beside the network and told by the workload, never asked of it. A wish that
is taken back is remembered: what is on its way may still arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.kernel.instant import Instant


@dataclass(slots=True, eq=False)
class Wish:
    """One subscription of one client; `until` is None while it holds."""

    client: str
    number: int
    predicate: Predicate
    since: Instant
    until: Instant | None = None

    def holds(self, start: Instant, stop: Instant) -> bool:
        """Whether it did all the time from `start` to `stop`."""
        return self.since <= start and (self.until is None or self.until > stop)


class Wishes:
    """All wishes there are and were, by client."""

    def __init__(self) -> None:
        self._all: Final[dict[str, list[Wish]]] = {}
        self._live: Final[dict[tuple[str, int], Wish]] = {}

    def subscribe(self, client: str, number: int, predicate: Predicate, *, now: Instant) -> None:
        """A client asks for something, in place of what it asked for under that number."""
        known = self._live.get((client, number))
        if known is not None and known.predicate == predicate:
            return
        self.unsubscribe(client, number, now=now)
        self._begin(Wish(client, number, predicate, now))

    def unsubscribe(self, client: str, number: int, *, now: Instant) -> None:
        """A client has enough."""
        known = self._live.pop((client, number), None)
        if known is not None:
            known.until = now

    def pause(self, client: str, *, now: Instant) -> None:
        """A client goes away: what it asks for it cannot get."""
        for (name, _), wish in self._live.items():
            if name == client:
                wish.until = now

    def renew(self, client: str, *, now: Instant) -> None:
        """It comes back: it asks again for all it asked for, and counts from now."""
        for wish in [wish for (name, _), wish in self._live.items() if name == client]:
            self._begin(Wish(client, wish.number, wish.predicate, now))

    def of(self, client: str) -> dict[int, Predicate]:
        """What a client asks for now."""
        return {number: w.predicate for (name, number), w in self._live.items() if name == client}

    def live(self) -> Iterator[Wish]:
        """All that is asked for now."""
        return iter(self._live.values())

    def may_get(self, client: str, message: Message, *, since: Instant) -> bool:
        """Whether the client asks for such a message, or still did at `since`."""
        return any(
            (wish.until is None or wish.until >= since) and wish.predicate.matches(message)
            for wish in self._all.get(client, ())
        )

    def wanting(self, message: Message, start: Instant, stop: Instant) -> Iterator[Wish]:
        """The wishes for such a message that held from `start` to `stop`."""
        for wishes in self._all.values():
            for wish in wishes:
                if wish.holds(start, stop) and wish.predicate.matches(message):
                    yield wish

    def _begin(self, wish: Wish) -> None:
        self._all.setdefault(wish.client, []).append(wish)
        self._live[wish.client, wish.number] = wish
