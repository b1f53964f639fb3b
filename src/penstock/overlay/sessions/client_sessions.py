"""Client sessions and the exact predicates of their subscriptions.

A session lasts while its client sends frames. Subscriptions that are not repeated expire, so that a
lost SUB or UNSUB does no lasting harm. Filters are reference-counted because many clients share
them: adverts change only with the first and the last subscription to a filter.
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
    """One SUB, and the time it was last repeated."""

    traffic: TrafficClass
    predicate: Predicate
    renewed: Instant


@dataclass(slots=True)
class ClientSession:
    """One client; its epoch is None until it sends HELLO."""

    last_heard: Instant
    epoch: int | None = None
    subscriptions: dict[int, ClientSubscription] = field(default_factory=dict)


class InterestSet:
    """All filters of one traffic class, with the number of subscriptions that contain each."""

    def __init__(self, encoder: Encoder) -> None:
        self._counts: dict[Filter, int] = {}
        self._minimal_cover = MinimalCover(encoder)
        self.changed = False

    def add(self, predicate: Predicate) -> None:
        """Adds the filters of a subscription."""
        for f in predicate.filters:
            count = self._counts.get(f, 0)
            self._counts[f] = count + 1
            if not count:
                self._minimal_cover.add(f)
                self.changed = True

    def remove(self, predicate: Predicate) -> None:
        """Removes the filters of a subscription."""
        for f in predicate.filters:
            self._counts[f] -= 1
            if not self._counts[f]:
                del self._counts[f]
                self._minimal_cover.remove(f)
                self.changed = True

    def to_advertise(self) -> list[int]:
        """The Bloom sets to advertise; filters that another one covers are left out."""
        self.changed = False
        return sorted(set(self._minimal_cover.filters().values()))


class ClientSessions:
    """Client sessions by port."""

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
        """Renews a session; False if it is new or restarted: the client must resend its SUBs."""
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
        """Adds or renews a subscription; a known id with another predicate is replaced."""
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
        """Removes a subscription; an unknown id is no error, because UNSUB may be repeated."""
        session = self._sessions.get(port)
        if session is not None:
            session.last_heard = now
            if subscription in session.subscriptions:
                self._drop(port, session, subscription)

    def disconnect(self, port: Port) -> None:
        """Removes a client and its subscriptions."""
        session = self._sessions.pop(port, None)
        if session is not None:
            for subscription in list(session.subscriptions):
                self._drop(port, session, subscription)

    def expire(self, *, now: Instant) -> None:
        """Removes silent clients, and subscriptions that were not repeated in time."""
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
        """The clients with a predicate that the message matches, each once."""
        return list(dict.fromkeys([port for port, _ in self._index.match(message)]))

    def serving_requests(self, bits: int) -> list[Port]:
        """The clients that may repair the message with these bits, each once. [R7]"""
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
