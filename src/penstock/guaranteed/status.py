"""The state of a broker as it tells people and programs: streams, durable names, and itself.

These are the objects of the answers to `list`, `durables` and `status`, in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from penstock.content.covering import covers
from penstock.content.syntax import format_predicate
from penstock.guaranteed.congestion_status import (
    ReadingStatus,
    ThrottleStatus,
    readings,
    throttles,
)
from penstock.guaranteed.lag import Lags, Place
from penstock.guaranteed.settings import Retention
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.guaranteed.tick import seconds_between
from penstock.kernel.instant import SECOND, Instant

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker
    from penstock.guaranteed.host.durable import Durable
    from penstock.guaranteed.pubend.pubend import Pubend

# By pubend and host.
HostPlaces: TypeAlias = Mapping[tuple[int, str], Place]

# Of one stream, those that are furthest behind; and of one host.
_HOSTS_MAX: Final = 100
_NAMES_MAX: Final = 20


class HostStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far one host has read a stream, and what is kept for it."""

    host: str
    # Of this broker's own names those that are furthest behind, of other hosts some.
    durables: list[str]
    # When it read on last, in Unix nanoseconds.
    since_ns: int
    messages: int
    bytes: int
    # The age of the oldest message that is kept for it.
    seconds: float
    # Of what the stream may keep.
    retention_share: float


class StreamStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A stream; all but its name is known only at the broker that stores it."""

    name: str
    pubends: list[str]
    is_here: bool
    # The parents that its pubends are taken from now.
    taken_from: list[str] = []
    messages: int = 0
    bytes: int = 0
    retention: Retention | None = None
    slow_host: str | None = None
    # Who keeps most from being trimmed; None if every host has read everything.
    held_by: HostStatus | None = None
    # All hosts with durable names, the furthest behind first.
    hosts: list[HostStatus] = []
    unsynced: int = 0
    is_disk_full: bool = False
    # By pubend: its publishers, and the readers of this broker.
    throttles: list[ThrottleStatus] = []
    readings: list[ReadingStatus] = []


class LagStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a durable name is behind; None where the log cannot be asked."""

    messages: int | None
    seconds: float | None
    retention_share: float | None
    # With a filter: some of the messages may not match; or the log has given up some of them.
    is_upper_bound: bool


class DurableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A durable name: what it reads, how far it is, and who reads it."""

    name: str
    streams: list[str]
    # Of these streams those that are not there any more.
    deleted: list[str]
    # The broker that keeps its cursor.
    host: str
    filter: str
    # The last tick that needs no reading any more, by pubend.
    positions: dict[str, int]
    lag: LagStatus
    reader: str | None
    reader_since_ns: int | None
    unread_since_ns: int | None
    # Forgotten when it was not read for so long; None for never.
    expire_seconds: int | None
    attempts: int
    poison: str
    parked: int
    # Why its reading was ended; "" if it was not.
    stopped: str


class AlarmStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an operator must know."""

    at_ns: int
    kind: str
    text: str


class BrokerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the host, the relays and the pubends of a broker are doing."""

    broker: str
    life: int
    clients: int
    streams: int
    durables: int
    # The names of parents that are linked, and how many others are not.
    parents: list[str]
    parents_away: int
    # Streams whose newest messages are being repaired, and subscriptions that read by themselves.
    recovering: int
    catch_up_readers: int
    waiting_readers: int
    # Seconds of stream time between the oldest gap and the newest that is decided.
    oldest_gap_seconds: float | None
    # Messages that came to the host of this broker, and those of them that were known.
    received: int
    repeated: int
    repeated_share: float
    # Of the last syncs of its logs; None before the first.
    sync_p50_seconds: float | None
    sync_p99_seconds: float | None
    queue_bytes: int
    queue_dropped: int
    is_idle: bool
    # The last ones, the oldest first.
    alarms: list[AlarmStatus]


# Streams


def stream_places(broker: Broker, name: str) -> HostPlaces:
    """How far hosts are now: what has to be measured for the status of a stream."""
    return {
        (pubend.id, host): Place(pubend.id, row.tick)
        for pubend in broker.pubends.values()
        if pubend.stream == name
        for host, row in pubend.rows.by_host.items()
    }


def stream_status(
    broker: Broker, name: str, places: HostPlaces, lags: Lags, *, now: Instant
) -> StreamStatus:
    """One stream; `places` are where its hosts were when the log was asked."""
    own = [pubend for pubend in broker.pubends.values() if pubend.stream == name]
    hosts = sorted(
        (host for pubend in own for host in _hosts(broker, pubend, places, lags)),
        key=lambda host: (-host.bytes, host.since_ns, host.host),
    )
    return StreamStatus(
        name=name,
        pubends=[f"{id_:016x}" for id_ in broker.streams.everywhere(name)],
        is_here=bool(own),
        taken_from=sorted(_taken_from(broker, name)),
        messages=sum(pubend.stored.size.messages for pubend in own),
        bytes=sum(pubend.stored.size.size_bytes for pubend in own),
        retention=own[0].stored.size.retention if own else None,
        slow_host=own[0].slow_host if own else None,
        held_by=hosts[0] if hosts and hosts[0].messages else None,
        hosts=hosts[:_HOSTS_MAX],
        unsynced=sum(pubend.unsynced for pubend in own),
        is_disk_full=any(pubend.is_disk_full for pubend in own),
        throttles=list(throttles(broker, name, now=now)),
        readings=list(readings(broker, name)),
    )


def _taken_from(broker: Broker, name: str) -> set[str]:
    announcements = broker.links.announcements
    relays = [broker.relays.get(pubend) for pubend in broker.streams.everywhere(name)]
    parents = [announcements.name_of(relay.parent) for relay in relays if relay is not None]
    return {parent for parent in parents if parent is not None}


def _hosts(broker: Broker, pubend: Pubend, places: HostPlaces, lags: Lags) -> Iterator[HostStatus]:
    names: dict[str, list[str]] = {}
    for name, owner in pubend.rows.host_of.items():
        names.setdefault(owner, []).append(name)
    for host, row in pubend.rows.by_host.items():
        place = places.get((pubend.id, host))
        if place is None or place not in lags:
            # It has begun to read since the log was asked.
            continue
        behind = lags[place]
        own_names = names.get(host, [])
        if host == broker.name:
            own_names = _furthest_behind(broker, pubend.id, own_names)
        yield HostStatus(
            host=host,
            durables=sorted(own_names)[:_NAMES_MAX],
            since_ns=row.since_ns,
            # No more is kept for it than there is.
            messages=min(behind.messages, pubend.stored.size.messages),
            bytes=behind.size_bytes,
            seconds=behind.seconds,
            retention_share=behind.retention_share,
        )


def _furthest_behind(broker: Broker, pubend: int, names: list[str]) -> list[str]:
    """The cursors of this broker's own names are known: those that hold the others back."""
    durables = broker.host.durables
    cursors = {
        name: durables[name].cursors[pubend]
        for name in names
        if name in durables and pubend in durables[name].cursors
    }
    lowest = min(cursors.values(), default=0)
    return [name for name, tick in cursors.items() if tick == lowest] or names


# Durable names


def durable_places(broker: Broker, durable: Durable) -> Iterator[Place]:
    """What has to be measured for the lag of a durable name.

    Of a stream that was deleted there is nothing left to read; of one that was created anew, all of
    it.
    """
    gone = {pubend for pubend in durable.cursors if _is_gone(broker, pubend)}
    for pubend, tick in durable.cursors.items():
        if pubend not in gone:
            yield Place(pubend, tick)
    if gone:
        new = {pubend for name in durable.streams for pubend in broker.streams.everywhere(name)}
        yield from (Place(pubend, 0) for pubend in sorted(new - durable.cursors.keys()))


def _is_gone(broker: Broker, pubend: int) -> bool:
    """Whether nobody will answer for it any more: a parent that is away may know it."""
    return broker.knows_all_streams and pubend not in broker.relays


def _deleted_streams(broker: Broker, durable: Durable) -> list[str]:
    if not broker.knows_all_streams:
        return []
    return [name for name in durable.streams if not broker.streams.everywhere(name)]


def durable_status(
    broker: Broker, durable: Durable, places: list[Place], lags: Lags
) -> DurableStatus:
    """One durable name; `places` are where its cursors were when the logs were asked."""
    reader = broker.host.names.reader_of(durable.name)
    deleted = _deleted_streams(broker, durable)
    return DurableStatus(
        name=durable.name,
        streams=list(durable.streams),
        deleted=deleted,
        host=broker.name,
        filter=format_predicate(durable.predicate),
        positions={f"{id_:016x}": tick for id_, tick in durable.cursors.items()},
        lag=_lag(durable, places, lags, is_deleted=len(deleted) == len(durable.streams)),
        reader=None if reader is None else reader[0],
        reader_since_ns=None if reader is None else reader[1],
        unread_since_ns=durable.unread_since_ns or None,
        expire_seconds=durable.expire_s or None,
        attempts=durable.attempts_max,
        poison="park" if durable.parks else "stop",
        parked=len(broker.host.parking.of(durable.name)),
        stopped=durable.stopped,
    )


def _lag(durable: Durable, places: list[Place], lags: Lags, *, is_deleted: bool) -> LagStatus:
    is_upper_bound = not covers(durable.predicate, EVERYTHING)
    found = [lags[place] for place in places if place in lags]
    if len(found) < len(places) or is_deleted:
        return LagStatus(
            messages=None, seconds=None, retention_share=None, is_upper_bound=is_upper_bound
        )
    return LagStatus(
        messages=sum(behind.messages for behind in found),
        seconds=max((behind.seconds for behind in found), default=0.0),
        # Of several pubends the one that is filled most.
        retention_share=max((behind.retention_share for behind in found), default=0.0),
        is_upper_bound=is_upper_bound or any(behind.is_upper_bound for behind in found),
    )


# The broker


def broker_status(broker: Broker) -> BrokerStatus:
    """The broker as a whole."""
    readings = broker.host.readings.values()
    received = sum(reading.received for reading in readings)
    repeated = sum(reading.repeated for reading in readings)
    gaps = [gap for reading in readings if (gap := reading.oldest_gap()) is not None]
    queues = broker.queues.values()
    return BrokerStatus(
        broker=broker.name,
        life=broker.life,
        clients=broker.clients,
        streams=len(broker.streams.names()),
        durables=len(broker.host.durables),
        parents=sorted(broker.links.announcements.parents),
        parents_away=broker.links.announcements.away,
        recovering=len(gaps),
        catch_up_readers=sum(reading.catch_up_readers for reading in readings),
        waiting_readers=sum(reading.waiting_readers for reading in readings),
        oldest_gap_seconds=max((seconds_between(start, end) for start, end in gaps), default=None),
        received=received,
        repeated=repeated,
        repeated_share=repeated / received if received else 0.0,
        sync_p50_seconds=_sync_seconds(broker, 0.5),
        sync_p99_seconds=_sync_seconds(broker, 0.99),
        queue_bytes=sum(queue.queue_bytes for queue in queues),
        queue_dropped=sum(queue.dropped for queue in queues),
        is_idle=broker.is_idle,
        alarms=[
            AlarmStatus(at_ns=at_ns, kind=alarm.kind, text=alarm.text)
            for at_ns, alarm in broker.alarms
        ],
    )


def _sync_seconds(broker: Broker, share: float) -> float | None:
    duration_ns = None if broker.sync_times is None else broker.sync_times.quantile(share)
    return None if duration_ns is None else duration_ns / SECOND
