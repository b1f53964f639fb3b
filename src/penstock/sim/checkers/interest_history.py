"""The subscriptions of all clients over time: the ground truth for checkers.

The workload reports them; nothing is read from the network. Ended subscriptions are kept,
because messages in flight may still arrive.
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
    """One subscription of one client; `until` is None while it is active."""

    client: str
    subscription_id: int
    predicate: Predicate
    since: Instant
    until: Instant | None = None

    def is_active_throughout(self, start: Instant, stop: Instant) -> bool:
        """Whether it was active all the time from `start` to `stop`."""
        return self.since <= start and (self.until is None or self.until > stop)


class InterestHistory:
    """All subscriptions, active and ended, by client."""

    def __init__(self) -> None:
        self._all: Final[dict[str, list[ClientInterest]]] = {}
        self._active: Final[dict[tuple[str, int], ClientInterest]] = {}

    def subscribe(
        self, client: str, subscription_id: int, predicate: Predicate, *, now: Instant
    ) -> None:
        """Adds a subscription; replaces the predicate that had this subscription id."""
        known = self._active.get((client, subscription_id))
        if known is not None and known.predicate == predicate:
            return
        self.unsubscribe(client, subscription_id, now=now)
        self._add(ClientInterest(client, subscription_id, predicate, now))

    def unsubscribe(self, client: str, subscription_id: int, *, now: Instant) -> None:
        """Ends a subscription."""
        known = self._active.pop((client, subscription_id), None)
        if known is not None:
            known.until = now

    def pause(self, client: str, *, now: Instant) -> None:
        """A client leaves: its subscriptions cannot be served."""
        for (name, _), interest in self._active.items():
            if name == client:
                interest.until = now

    def resume(self, client: str, *, now: Instant) -> None:
        """A client returns: all its subscriptions are active again, from now on."""
        for interest in [known for (name, _), known in self._active.items() if name == client]:
            self._add(ClientInterest(client, interest.subscription_id, interest.predicate, now))

    def predicates_of(self, client: str) -> dict[int, Predicate]:
        """The predicates that a client subscribes to now."""
        return {
            subscription_id: w.predicate
            for (name, subscription_id), w in self._active.items()
            if name == client
        }

    def active(self) -> Iterator[ClientInterest]:
        """All active subscriptions."""
        return iter(self._active.values())

    def may_receive(self, client: str, message: Message, *, since: Instant) -> bool:
        """Whether the client subscribes to such a message, or still did at `since`."""
        return any(
            (interest.until is None or interest.until >= since)
            and interest.predicate.matches(message)
            for interest in self._all.get(client, ())
        )

    def matching(self, message: Message, start: Instant, stop: Instant) -> Iterator[ClientInterest]:
        """Subscriptions to such a message that were active from `start` to `stop`."""
        for interests in self._all.values():
            for interest in interests:
                if interest.is_active_throughout(start, stop) and interest.predicate.matches(
                    message
                ):
                    yield interest

    def _add(self, interest: ClientInterest) -> None:
        self._all.setdefault(interest.client, []).append(interest)
        self._active[interest.client, interest.subscription_id] = interest
