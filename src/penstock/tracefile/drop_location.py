"""Locates where a message was lost on its way to one receiver, as far as a trace shows.

A trace does not say which copy was for which receiver. Two things show it:

1. The last broker handed it over: it was lost between the broker and the receiver.
2. Another message of the same publisher, sent shortly before or after, reached the receiver:
   this message took the same route, up to the last broker there that had it.

Otherwise all places where a copy ended are reported as possible: one copy serves several
receivers, and another copy's end need not be ours. Repairs travel separately: only the
original's packet is followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.fates import DropReason, HopDecision, PublisherFate
from penstock.trace.records import Drop, Hop
from penstock.tracefile.message_history import MessageHistory

_LOCATIONS_SHOWN_MAX: Final = 3
NO_DROPS: Final = "the trace has no drops table: where it was lost is not known"


@dataclass(frozen=True, slots=True)
class DropLocation:
    """`last_holder` had it last, `drop` ended it; None where the trace does not show it."""

    explanation: str
    last_holder: str | None = None
    drop: Drop | None = None


def format_seconds(at: Instant) -> str:
    """A time of the run in seconds, to the microsecond."""
    return f"{at // 10**9}.{at % 10**9 // 1000:06d}"


def routes_by_subscriber(nearby: Iterable[Hop], seq: int) -> dict[str, tuple[str, ...]]:
    """The brokers on the path to each client, from the message with the nearest sequence number."""
    messages: dict[int, list[Hop]] = defaultdict(list)
    for hop in nearby:
        messages[hop.seq].append(hop)
    found: dict[str, tuple[str, ...]] = {}
    for _, hops in sorted(messages.items(), key=lambda item: abs(item[0] - seq)):
        previous_broker = {
            hop.towards: hop.broker
            for hop in reversed(hops)
            if hop.decision is HopDecision.FORWARDED and hop.towards is not None
        }
        for hop in hops:
            if hop.decision is HopDecision.HANDED_OVER and hop.towards not in {None, *found}:
                found[str(hop.towards)] = _route(hop.broker, previous_broker)
    return found


def _route(last_broker: str, previous_broker: Mapping[str, str]) -> tuple[str, ...]:
    route = [last_broker]
    while (broker := previous_broker.get(route[-1])) is not None and broker not in route:
        route.append(broker)
    return tuple(reversed(route))


class DropLocator:
    """Locates the ends of one message's copies."""

    def __init__(self, history: MessageHistory, routes: Mapping[str, tuple[str, ...]]) -> None:
        self._history = history
        self._routes = routes
        self._hops, packet = _original_hops(history.hops)
        self._drops = [
            drop
            for drop in history.drops
            if drop.traffic_class != "request"
            and (packet is None or _packet_id(drop) in {None, packet})
        ]
        self._receivers = {*history.receivers}
        self._hops_by_broker: dict[str, list[Hop]] = {}
        self._delivering_broker: dict[str | None, str] = {}
        for hop in self._hops:
            self._hops_by_broker.setdefault(hop.broker, []).append(hop)
            if hop.decision is HopDecision.HANDED_OVER:
                self._delivering_broker[hop.towards] = hop.broker
        self._candidates = self._all_candidates()

    def locate(self, subscriber: str) -> DropLocation:
        """Where the message was lost for one expected receiver."""
        publication = self._history.publication
        # A rate-limited message with a publication time was sent all the same.
        if publication is not None and (
            publication.fate is PublisherFate.DROPPED_AT_SOURCE or publication.published_ns is None
        ):
            publisher = publication.publisher
            return DropLocation(f"it never left {publisher}: {publication.fate}", publisher)
        if not self._history.is_recorded(Hop):
            return self._from_drops(subscriber)
        if not self._hops:
            return self._before_any_broker()
        if subscriber in self._delivering_broker:
            return self._between(
                self._delivering_broker[subscriber], subscriber, "handed it over to"
            )
        return self._along_route(self._routes.get(subscriber, ()))

    def _from_drops(self, subscriber: str) -> DropLocation:
        if not self._history.is_recorded(Drop):
            return DropLocation(NO_DROPS)
        locations = []
        for drop in self._drops:
            towards = drop.where.rpartition("-")[2]
            if towards == subscriber or towards not in self._receivers:
                subject = "it" if towards == subscriber else "a copy"
                locations.append(DropLocation(f"{subject} was {_describe_drop(drop)}", drop=drop))
        return _combine(locations) or DropLocation(
            "the trace tells of no drop of it, and has no hops table"
        )

    def _before_any_broker(self) -> DropLocation:
        publisher = self._history.message.publisher
        drops = [drop for drop in self._drops if drop.where.startswith(f"{publisher}-")]
        return self._located("no broker had it", publisher, drops)

    def _between(self, broker: str, towards: str, verb: str) -> DropLocation:
        places = {f"{broker}-{towards}", towards}
        drops = [drop for drop in self._drops if drop.where in places]
        return self._located(f"{broker} {verb} {towards}", broker, drops)

    def _located(self, text: str, last_holder: str, drops: list[Drop]) -> DropLocation:
        if drops:
            return DropLocation(
                f"{text}, and it was {_describe_drop(drops[-1])}", last_holder, drops[-1]
            )
        if not self._history.is_recorded(Drop):
            return DropLocation(f"{text}; {NO_DROPS}", last_holder)
        return DropLocation(
            f"{text}, and the trace tells no more: no drop of it was recorded", last_holder
        )

    def _along_route(self, route: tuple[str, ...]) -> DropLocation:
        reached = [at for at, broker in enumerate(route) if broker in self._hops_by_broker]
        if not reached:
            return self._any_candidate()
        last = route[reached[-1]]
        if last == route[-1]:
            locations = self._locations_at(last)
            return _combine(locations) or DropLocation(
                f"{last} had it, and did not hand it over", last
            )
        after = route[reached[-1] + 1]
        if any(hop.towards == after for hop in self._hops_by_broker[last]):
            return self._between(last, after, "forwarded it to")
        return (
            _combine(self._locations_at(last))
            or _tentative(self._candidates)
            or DropLocation(
                f"{last} had it, and sent no copy to {after}, the way that others went", last
            )
        )

    def _any_candidate(self) -> DropLocation:
        return _tentative(self._candidates) or DropLocation(
            "every copy reached its broker, and none was for this receiver", self._hops[0].broker
        )

    def _all_candidates(self) -> list[DropLocation]:
        candidates = []
        for hop in self._hops:
            if hop.decision is HopDecision.FORWARDED and hop.towards not in self._hops_by_broker:
                candidates.append(self._between(hop.broker, str(hop.towards), "forwarded it to"))
        return candidates + [
            end for broker in self._hops_by_broker for end in self._locations_at(broker)
        ]

    def _locations_at(self, broker: str) -> list[DropLocation]:
        """Decisions of a broker that ended a copy; dropping a duplicate ends none."""
        locations = []
        for hop in self._hops_by_broker[broker]:
            if hop.decision is HopDecision.FILTERED:
                locations.append(
                    DropLocation(f"{broker} filtered it: it knew of nobody who wants it", broker)
                )
            if hop.decision is HopDecision.NO_MATCH:
                locations.append(
                    DropLocation(f"no exact filter of a client of {broker} matched it", broker)
                )
            if hop.decision is HopDecision.DROPPED and hop.reason is not DropReason.DUPLICATE:
                explanation = (
                    f"{broker} dropped it ({hop.reason}) at {format_seconds(hop.decided_ns)} s"
                )
                locations.append(DropLocation(explanation, broker))
        return locations


def _combine(locations: list[DropLocation]) -> DropLocation | None:
    """The only location, or a text that lists several."""
    if len(locations) < 2:
        return locations[0] if locations else None
    more = (
        f"; or {len(locations) - _LOCATIONS_SHOWN_MAX} more"
        if len(locations) > _LOCATIONS_SHOWN_MAX
        else ""
    )
    return DropLocation(
        "one of: " + "; ".join(end.explanation for end in locations[:_LOCATIONS_SHOWN_MAX]) + more
    )


def _tentative(locations: list[DropLocation]) -> DropLocation | None:
    """Possible locations, when nothing shows the route to this receiver."""
    location = _combine(locations)
    if location is None or len(locations) > 1:
        return location
    return DropLocation(f"perhaps {location.explanation}", location.last_holder, location.drop)


def _describe_drop(drop: Drop) -> str:
    return f"dropped at {drop.where} ({drop.reason}) at {format_seconds(drop.dropped_ns)} s"


def _packet_id(row: Hop | Drop) -> tuple[int | None, ...] | None:
    packet = (row.packet_origin, row.packet_epoch, row.packet_counter)
    return None if packet[0] is None else packet


def _original_hops(hops: tuple[Hop, ...]) -> tuple[list[Hop], tuple[int | None, ...] | None]:
    """The hops of the message as published, and its packet id; all others belong to repairs."""
    if not hops:
        return [], None
    packet = next((_packet_id(hop) for hop in hops if _packet_id(hop) is not None), None)
    # Hops without a packet id: the decisions of the first broker, all at one instant.
    first = (hops[0].broker, hops[0].decided_ns)
    original = [
        hop
        for hop in hops
        if (_packet_id(hop) == packet if _packet_id(hop) else (hop.broker, hop.decided_ns) == first)
    ]
    return original, packet
