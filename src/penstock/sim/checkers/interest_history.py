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
class ClientInterest:
    """One subscription of one client; `until` is None while it holds."""

    client: str
    subscription_id: int
    predicate: Predicate
    since: Instant
    until: Instant | None = None

    def is_active_throughout(self, start: Instant, stop: Instant) -> bool:
        """Whether it did all the time from `start` to `stop`."""
        return self.since <= start and (self.until is None or self.until > stop)


class InterestHistory:
    """All wishes there are and were, by client."""

    def __init__(self) -> None:
        self._all: Final[dict[str, list[ClientInterest]]] = {}
        self._active: Final[dict[tuple[str, int], ClientInterest]] = {}

    def subscribe(
        self, client: str, subscription_id: int, predicate: Predicate, *, now: Instant
    ) -> None:
        """A client asks for something, in place of what it asked for under that number."""
        known = self._active.get((client, subscription_id))
        if known is not None and known.predicate == predicate:
            return
        self.unsubscribe(client, subscription_id, now=now)
        self._add(ClientInterest(client, subscription_id, predicate, now))

    def unsubscribe(self, client: str, subscription_id: int, *, now: Instant) -> None:
        """A client has enough."""
        known = self._active.pop((client, subscription_id), None)
        if known is not None:
            known.until = now

    def pause(self, client: str, *, now: Instant) -> None:
        """A client goes away: what it asks for it cannot get."""
        for (name, _), interest in self._active.items():
            if name == client:
                interest.until = now

    def resume(self, client: str, *, now: Instant) -> None:
        """It comes back: it asks again for all it asked for, and counts from now."""
        for interest in [wish for (name, _), wish in self._active.items() if name == client]:
            self._add(ClientInterest(client, interest.subscription_id, interest.predicate, now))

    def predicates_of(self, client: str) -> dict[int, Predicate]:
        """What a client asks for now."""
        return {
            subscription_id: w.predicate
            for (name, subscription_id), w in self._active.items()
            if name == client
        }

    def active(self) -> Iterator[ClientInterest]:
        """All that is asked for now."""
        return iter(self._active.values())

    def may_receive(self, client: str, message: Message, *, since: Instant) -> bool:
        """Whether the client asks for such a message, or still did at `since`."""
        return any(
            (interest.until is None or interest.until >= since)
            and interest.predicate.matches(message)
            for interest in self._all.get(client, ())
        )

    def matching(self, message: Message, start: Instant, stop: Instant) -> Iterator[ClientInterest]:
        """The wishes for such a message that held from `start` to `stop`."""
        for interests in self._all.values():
            for interest in interests:
                if interest.is_active_throughout(start, stop) and interest.predicate.matches(
                    message
                ):
                    yield interest

    def _add(self, interest: ClientInterest) -> None:
        self._all.setdefault(interest.client, []).append(interest)
        self._active[interest.client, interest.subscription_id] = interest
