"""Where the copy of a message that someone never got came to its end, as far as a trace tells.

A trace does not say which copy was for whom. What says it:

1. The last broker handed it over: it ended between the two.
2. Another message of the same publisher, sent shortly before or after, did come
   through: ours went the same way, up to the last broker there that had it.

Failing both, the places where a copy ended are named as what may have been: one
copy is for several, and another's end is not ours. Repairs have lives of their
own: only the original's packet is followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.fates import DropReason, HopDecision, PublisherFate
from penstock.trace.records import Drop, Hop
from penstock.tracefile.message_history import Life

_NAMED: Final = 3
NO_DROPS: Final = "the trace has no drops table: where it was lost is not known"


@dataclass(frozen=True, slots=True)
class End:
    """`last` is who had it last, `drop` what ended it; None where the trace does not say."""

    why: str
    last: str | None = None
    drop: Drop | None = None


def seconds(at: Instant) -> str:
    """A time of the run, to the microsecond."""
    return f"{at // 10**9}.{at % 10**9 // 1000:06d}"


def routes(nearby: Iterable[Hop], seq: int) -> dict[str, tuple[str, ...]]:
    """The brokers on the way to each client, as the message numbered nearest to `seq` went."""
    messages: dict[int, list[Hop]] = defaultdict(list)
    for hop in nearby:
        messages[hop.seq].append(hop)
    found: dict[str, tuple[str, ...]] = {}
    for _, hops in sorted(messages.items(), key=lambda item: abs(item[0] - seq)):
        before = {
            hop.towards: hop.broker
            for hop in reversed(hops)
            if hop.decision is HopDecision.FORWARDED and hop.towards is not None
        }
        for hop in hops:
            if hop.decision is HopDecision.HANDED_OVER and hop.towards not in {None, *found}:
                found[str(hop.towards)] = _way(hop.broker, before)
    return found


def _way(home: str, before: Mapping[str, str]) -> tuple[str, ...]:
    way = [home]
    while (broker := before.get(way[-1])) is not None and broker not in way:
        way.append(broker)
    return tuple(reversed(way))


class Ends:
    """The ends of one message's copies."""

    def __init__(self, life: Life, ways: Mapping[str, tuple[str, ...]]) -> None:
        self._life = life
        self._ways = ways
        self._hops, packet = _original(life.hops)
        self._drops = [
            drop
            for drop in life.drops
            if drop.traffic_class != "request"
            and (packet is None or _packet(drop) in {None, packet})
        ]
        self._receivers = {*life.receivers}
        self._at: dict[str, list[Hop]] = {}
        self._handed: dict[str | None, str] = {}
        for hop in self._hops:
            self._at.setdefault(hop.broker, []).append(hop)
            if hop.decision is HopDecision.HANDED_OVER:
                self._handed[hop.towards] = hop.broker
        self._everywhere = self._all_ends()

    def of(self, subscriber: str) -> End:
        """Where it ended for one who was to get it."""
        publication = self._life.publication
        # What was held back has left all the same, if it has a time.
        if publication is not None and (
            publication.fate is PublisherFate.DROPPED_AT_SOURCE or publication.published_ns is None
        ):
            publisher = publication.publisher
            return End(f"it never left {publisher}: {publication.fate}", publisher)
        if not self._life.is_recorded(Hop):
            return self._by_drops(subscriber)
        if not self._hops:
            return self._before_any_broker()
        if subscriber in self._handed:
            return self._between(self._handed[subscriber], subscriber, "handed it over to")
        return self._along(self._ways.get(subscriber, ()))

    def _by_drops(self, subscriber: str) -> End:
        if not self._life.is_recorded(Drop):
            return End(NO_DROPS)
        ends = []
        for drop in self._drops:
            towards = drop.where.rpartition("-")[2]
            if towards == subscriber or towards not in self._receivers:
                own = "it" if towards == subscriber else "a copy"
                ends.append(End(f"{own} was {_dropped(drop)}", drop=drop))
        return _one_of(ends) or End("the trace tells of no drop of it, and has no hops table")

    def _before_any_broker(self) -> End:
        publisher = self._life.message.publisher
        drops = [drop for drop in self._drops if drop.where.startswith(f"{publisher}-")]
        return self._ended("no broker had it", publisher, drops)

    def _between(self, broker: str, towards: str, verb: str) -> End:
        places = {f"{broker}-{towards}", towards}
        drops = [drop for drop in self._drops if drop.where in places]
        return self._ended(f"{broker} {verb} {towards}", broker, drops)

    def _ended(self, said: str, last: str, drops: list[Drop]) -> End:
        if drops:
            return End(f"{said}, and it was {_dropped(drops[-1])}", last, drops[-1])
        if not self._life.is_recorded(Drop):
            return End(f"{said}; {NO_DROPS}", last)
        return End(f"{said}, and the trace tells no more: no drop of it was recorded", last)

    def _along(self, way: tuple[str, ...]) -> End:
        reached = [at for at, broker in enumerate(way) if broker in self._at]
        if not reached:
            return self._anywhere()
        last = way[reached[-1]]
        if last == way[-1]:
            ends = self._ends_at(last)
            return _one_of(ends) or End(f"{last} had it, and did not hand it over", last)
        after = way[reached[-1] + 1]
        if any(hop.towards == after for hop in self._at[last]):
            return self._between(last, after, "forwarded it to")
        return (
            _one_of(self._ends_at(last))
            or _perhaps(self._everywhere)
            or End(f"{last} had it, and sent no copy to {after}, the way that others went", last)
        )

    def _anywhere(self) -> End:
        return _perhaps(self._everywhere) or End(
            "every copy reached its broker, and none was for this receiver", self._hops[0].broker
        )

    def _all_ends(self) -> list[End]:
        ends = []
        for hop in self._hops:
            if hop.decision is HopDecision.FORWARDED and hop.towards not in self._at:
                ends.append(self._between(hop.broker, str(hop.towards), "forwarded it to"))
        return ends + [end for broker in self._at for end in self._ends_at(broker)]

    def _ends_at(self, broker: str) -> list[End]:
        """What a broker decided that ended a copy; a duplicate ends none that others lack."""
        ends = []
        for hop in self._at[broker]:
            if hop.decision is HopDecision.FILTERED:
                ends.append(End(f"{broker} filtered it: it knew of nobody who wants it", broker))
            if hop.decision is HopDecision.NO_MATCH:
                ends.append(End(f"no exact filter of a client of {broker} matched it", broker))
            if hop.decision is HopDecision.DROPPED and hop.reason is not DropReason.DUPLICATE:
                why = f"{broker} dropped it ({hop.reason}) at {seconds(hop.decided_ns)} s"
                ends.append(End(why, broker))
        return ends


def _one_of(ends: list[End]) -> End | None:
    """The only one, or what can be said of several."""
    if len(ends) < 2:
        return ends[0] if ends else None
    more = f"; or {len(ends) - _NAMED} more" if len(ends) > _NAMED else ""
    return End("one of: " + "; ".join(end.why for end in ends[:_NAMED]) + more)


def _perhaps(ends: list[End]) -> End | None:
    """What may have been, when nothing shows the way to this receiver."""
    end = _one_of(ends)
    if end is None or len(ends) > 1:
        return end
    return End(f"perhaps {end.why}", end.last, end.drop)


def _dropped(drop: Drop) -> str:
    return f"dropped at {drop.where} ({drop.reason}) at {seconds(drop.dropped_ns)} s"


def _packet(row: Hop | Drop) -> tuple[int | None, ...] | None:
    packet = (row.packet_origin, row.packet_epoch, row.packet_counter)
    return None if packet[0] is None else packet


def _original(hops: tuple[Hop, ...]) -> tuple[list[Hop], tuple[int | None, ...] | None]:
    """The decisions about the message as published, and its packet; the rest are repairs'."""
    if not hops:
        return [], None
    packet = next((_packet(hop) for hop in hops if _packet(hop) is not None), None)
    # Without a packet yet: all that its first broker decides, at one instant.
    first = (hops[0].broker, hops[0].decided_ns)
    mine = [
        hop
        for hop in hops
        if (_packet(hop) == packet if _packet(hop) else (hop.broker, hop.decided_ns) == first)
    ]
    return mine, packet
