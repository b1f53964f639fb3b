"""The state of a broker as it tells people: streams, durable names, and itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.content.syntax import format_predicate
from penstock.guaranteed.settings import Retention
from penstock.guaranteed.tick import seconds_between

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker
    from penstock.guaranteed.host.durable import Durable
    from penstock.guaranteed.pubend.pubend import Pubend
    from penstock.kernel.instant import Instant

# Of a filter that is shown.
_FILTER_CHARACTERS_MAX = 500


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who keeps a log from being trimmed, since when, and how much waits for it."""

    host: str
    durables: list[str]
    since_ns: int
    bytes: int


class StreamStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A stream; sizes are known at the broker that stores it."""

    name: str
    pubends: list[str]
    is_here: bool
    messages: int = 0
    bytes: int = 0
    retention: Retention | None = None
    held_by: Holder | None = None


class DurableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A durable name: what it reads, how far it is, and who reads it."""

    name: str
    streams: list[str]
    filter: str
    # The last tick that needs no reading any more, by pubend.
    positions: dict[str, int]
    reader: str | None
    reader_since_ns: int | None
    unread_since_ns: int | None
    # None where the log is at another broker; with a filter an upper bound.
    lag_messages: int | None
    is_upper_bound: bool
    lag_seconds: float | None
    # Of what the log may keep; None where it is elsewhere or unbounded.
    lag_share: float | None
    parked: int
    stopped: str


class BrokerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the host and the pubends of a broker are doing."""

    broker: str
    life: int
    clients: int
    streams: list[StreamStatus]
    durables: int
    catch_up_readers: int
    waiting_readers: int
    # Seconds of stream time between the oldest gap and the newest that is decided.
    oldest_gap_seconds: float | None
    # Messages that came although they were known, of all that came.
    repeated_share: float
    is_idle: bool


def stream_statuses(broker: Broker) -> list[StreamStatus]:
    """All streams that the broker knows, by name."""
    return [stream_status(broker, name) for name in sorted(broker.streams())]


def stream_status(broker: Broker, name: str) -> StreamStatus:
    """One stream."""
    own = [pubend for pubend in broker.pubends.values() if pubend.stream == name]
    holders = [holder for pubend in own if (holder := _holder(pubend)) is not None]
    return StreamStatus(
        name=name,
        pubends=[f"{id_:016x}" for id_ in broker.pubends_of(name)],
        is_here=bool(own),
        messages=sum(pubend.size.messages for pubend in own),
        bytes=sum(pubend.size.size_bytes for pubend in own),
        retention=own[0].size.retention if own else None,
        held_by=max(holders, key=lambda holder: holder.bytes, default=None),
    )


def _holder(pubend: Pubend) -> Holder | None:
    lowest = pubend.rows.lowest()
    if lowest is None:
        return None
    host, row = lowest
    names = [name for name, owner in pubend.rows.host_of.items() if owner == host]
    _, size_bytes = pubend.size.behind(row.tick)
    return Holder(host=host, durables=sorted(names), since_ns=row.since_ns, bytes=size_bytes)


def durable_status(broker: Broker, durable: Durable, *, now: Instant) -> DurableStatus:
    """One durable name."""
    reader = broker.host.reader_of(durable.name)
    text = format_predicate(durable.predicate)
    messages, size_bytes, limit_bytes = 0, 0, 0
    is_here = True
    seconds: list[float] = []
    for id_, tick in durable.cursors.items():
        pubend = broker.pubends.get(id_)
        live = broker.host.readings[id_].live if id_ in broker.host.readings else None
        if pubend is not None:
            behind, behind_bytes = pubend.size.behind(tick)
            messages += behind
            size_bytes += behind_bytes
            limit_bytes += pubend.size.retention.size_bytes or 0
            seconds.append(seconds_between(tick, pubend.horizon(now) - 1))
        else:
            is_here = False
            if live is not None:
                seconds.append(seconds_between(tick, live.evidence - 1))
    return DurableStatus(
        name=durable.name,
        streams=list(durable.streams),
        filter=text[:_FILTER_CHARACTERS_MAX],
        positions={f"{id_:016x}": tick for id_, tick in durable.cursors.items()},
        reader=None if reader is None else reader[0],
        reader_since_ns=None if reader is None else reader[1],
        unread_since_ns=durable.unread_since_ns or None,
        lag_messages=messages if is_here else None,
        is_upper_bound=True,
        lag_seconds=max(0.0, *seconds) if seconds else None,
        lag_share=size_bytes / limit_bytes if is_here and limit_bytes else None,
        parked=len(broker.host.parking.of(durable.name)),
        stopped=durable.stopped,
    )


def broker_status(broker: Broker) -> BrokerStatus:
    """The broker as a whole."""
    readings = broker.host.readings.values()
    received = sum(reading.received for reading in readings)
    repeated = sum(reading.repeated for reading in readings)
    gaps = [gap for reading in readings if (gap := reading.oldest_gap()) is not None]
    return BrokerStatus(
        broker=broker.name,
        life=broker.life,
        clients=broker.clients,
        streams=stream_statuses(broker),
        durables=len(broker.host.durables),
        catch_up_readers=sum(reading.catch_up_readers for reading in readings),
        waiting_readers=sum(reading.waiting_readers for reading in readings),
        oldest_gap_seconds=max((seconds_between(start, end) for start, end in gaps), default=None),
        repeated_share=repeated / received if received else 0.0,
        is_idle=broker.is_idle,
    )
