"""Clients and exactly what they want.

A session lasts while its client speaks; subscriptions that it does not repeat
are forgotten, so that a lost SUB or UNSUB does no lasting harm. Filters are
counted, because many clients want the same: adverts change only when the first
asks for a filter or the last has enough of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.content.bloom import FilterTable
from penstock.content.filter import Filter, Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.overlay.counters import Count, Counters
from penstock.overlay.sessions.minimal_cover import MinimalCover
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.sub import Sub


@dataclass(slots=True)
class ClientSubscription:
    """One SUB, and when it was last repeated."""

    traffic: TrafficClass
    predicate: Predicate
    renewed: Instant


@dataclass(slots=True)
class ClientSession:
    """One client; its epoch is known once it has said HELLO."""

    last_heard: Instant
    epoch: int | None = None
    subscriptions: dict[int, ClientSubscription] = field(default_factory=dict)


class InterestSet:
    """All filters of one class, with how many subscriptions have each."""

    def __init__(self, encoder: Encoder) -> None:
        self._counts: dict[Filter, int] = {}
        self._minimal_cover = MinimalCover(encoder)
        self.changed = False

    def add(self, predicate: Predicate) -> None:
        """One more subscription."""
        for f in predicate.filters:
            count = self._counts.get(f, 0)
            self._counts[f] = count + 1
            if not count:
                self._minimal_cover.add(f)
                self.changed = True

    def remove(self, predicate: Predicate) -> None:
        """One less."""
        for f in predicate.filters:
            self._counts[f] -= 1
            if not self._counts[f]:
                del self._counts[f]
                self._minimal_cover.remove(f)
                self.changed = True

    def to_advertise(self) -> list[int]:
        """The Bloom sets that attract all that is wanted; filters others cover are left out."""
        self.changed = False
        return sorted(set(self._minimal_cover.filters().values()))


class ClientSessions:
    """Sessions by port."""

    def __init__(self, encoder: Encoder, settings: OverlaySettings, counters: Counters) -> None:
        self._encoder = encoder
        self._settings = settings
        self._counters = counters
        self._sessions: dict[Port, ClientSession] = {}
        self._index: MatchingIndex[tuple[Port, int]] = MatchingIndex()
        self._request_filters: FilterTable[tuple[Port, int, Filter]] = FilterTable(encoder.params.m)
        self.interests = tuple([InterestSet(encoder) for _ in TrafficClass])

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, port: Port) -> bool:
        return port in self._sessions

    def on_hello(self, port: Port, epoch: int, *, now: Instant) -> bool:
        """A client speaks; whether we know all it told us before, or it must tell us again."""
        session = self._sessions.get(port)
        if session is not None and session.epoch is not None and session.epoch != epoch:
            self.disconnect(port)
        session = self._session(port, now)
        if session is None:
            return False
        is_known = session.epoch == epoch
        session.epoch = epoch
        return is_known

    def subscribe(self, port: Port, sub: Sub, *, now: Instant) -> None:
        """Enters or repeats a subscription; a number that is known gets the new predicate."""
        session = self._session(port, now)
        if session is None:
            return
        known = session.subscriptions.get(sub.subscription)
        if known is not None and (known.traffic, known.predicate) == (sub.traffic, sub.predicate):
            known.renewed = now
            return
        if known is not None:
            self._drop(port, session, sub.subscription)
        elif len(session.subscriptions) >= self._settings.client_subscriptions_max:
            self._counters[Count.SUBSCRIPTIONS_OVERFLOW] += 1
            return
        session.subscriptions[sub.subscription] = ClientSubscription(
            sub.traffic, sub.predicate, now
        )
        self.interests[sub.traffic].add(sub.predicate)
        if sub.traffic is TrafficClass.DATA:
            self._index.add((port, sub.subscription), sub.predicate)
        else:
            for f in sub.predicate.filters:
                self._request_filters.add((port, sub.subscription, f), self._encoder.filter_bits(f))

    def unsubscribe(self, port: Port, subscription: int, *, now: Instant) -> None:
        """Takes a subscription back; one that is not known is no error: UNSUB may be repeated."""
        session = self._sessions.get(port)
        if session is not None:
            session.last_heard = now
            if subscription in session.subscriptions:
                self._drop(port, session, subscription)

    def disconnect(self, port: Port) -> None:
        """Forgets a client and all it wanted."""
        session = self._sessions.pop(port, None)
        if session is not None:
            for subscription in list(session.subscriptions):
                self._drop(port, session, subscription)

    def expire(self, *, now: Instant) -> None:
        """Forgets clients that fell silent, and what others did not repeat."""
        heard_before = now - self._settings.client_dead_ns
        renewed_before = now - self._settings.expire_ns
        for port, session in list(self._sessions.items()):
            if session.last_heard <= heard_before:
                self.disconnect(port)
                continue
            for subscription_id, subscription in list(session.subscriptions.items()):
                if subscription.renewed <= renewed_before:
                    self._drop(port, session, subscription_id)

    def matching(self, message: Message) -> list[Port]:
        """The clients whose exact predicates the message matches, each once."""
        return list(dict.fromkeys([port for port, _ in self._index.match(message)]))

    def serving_requests(self, bits: int) -> list[Port]:
        """The clients that may answer a request with these bits, each once. [R7]"""
        return list(dict.fromkeys([port for port, _, _ in self._request_filters.matching(bits)]))

    def _session(self, port: Port, now: Instant) -> ClientSession | None:
        session = self._sessions.get(port)
        if session is None:
            if len(self._sessions) >= self._settings.clients_max:
                self._counters[Count.CLIENTS_OVERFLOW] += 1
                return None
            session = self._sessions[port] = ClientSession(now)
        session.last_heard = now
        return session

    def _drop(self, port: Port, session: ClientSession, subscription_id: int) -> None:
        subscription = session.subscriptions.pop(subscription_id)
        self.interests[subscription.traffic].remove(subscription.predicate)
        if subscription.traffic is TrafficClass.DATA:
            self._index.remove((port, subscription_id))
        else:
            for f in subscription.predicate.filters:
                self._request_filters.remove((port, subscription_id, f))
