"""Numbers, times and states of streams: as people read them, and as programs do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

_SIZES: Final = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_AGES: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def some(count: int, thing: str) -> str:
    """Such as `1 client` or `2 clients`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def size(size_bytes: int) -> str:
    """Such as `1.2 MB`."""
    for unit, factor in _SIZES:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes} B"


def age(seconds: float | None) -> str:
    """Such as `0.3 s` or `2.5 h`."""
    if seconds is None:
        return "?"
    for factor, unit in _AGES:
        if seconds >= factor:
            return f"{seconds / factor:.1f} {unit}"
    return f"{seconds:.1f} s"


def share(part: float | None) -> str:
    """In per cent."""
    if part is None:
        return "?"
    return f"{100 * part:.1f} %" if part >= 0.001 or not part else "<0.1 %"


def at(unix_ns: int) -> str:
    """A time in UTC, to the second."""
    return f"{datetime.fromtimestamp(unix_ns // 10**9, UTC):%Y-%m-%dT%H:%M:%SZ}"


def instant(unix_ns: int) -> str:
    """The time of one message, in UTC."""
    second, ns = divmod(unix_ns, 10**9)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{ns // 1_000:06}Z"


def label(name: str) -> str:
    """A durable name in a table; in quotes where it could be misread."""
    return name if name.isprintable() and not set(name) & set(" ,:'") else repr(name)


def retention(kept: dict[str, Any] | None, slow_host: str | None = None) -> str:
    """Such as `10GB, 7d, refuse`, and `lag` of a stream that lets slow brokers lag."""
    if kept is None:
        return ""
    from penstock.api.units import duration_text, size_text

    size_bytes, age_ns = kept["size_bytes"], kept["age_ns"]
    return ", ".join(
        (
            "any size" if size_bytes is None else size_text(size_bytes),
            "any age" if age_ns is None else duration_text(age_ns),
            _overflow(kept),
            *(["lag"] if slow_host == "lag" else []),
        )
    )


def lag(found: dict[str, Any]) -> str:
    """Messages that a durable is behind."""
    if found["messages"] is None:
        return "?"
    return f"{'at most ' if found['is_upper_bound'] else ''}{found['messages']:,}"


def holder(host: dict[str, Any] | None) -> str:
    """Who keeps a stream from being trimmed."""
    if host is None:
        return "nobody"
    names = [label(name) for name in host["durables"]]
    several = f" and {len(names) - 2} more" if len(names) > 2 else ""
    held = f"{some(host['messages'], 'message')}, {size(host['bytes'])}"
    since = at(host["since_ns"])
    who = f"{', '.join(names[:2])}{several} at {host['host']}"
    return f"{who}: holds {held}, not read on since {since}"


# For programs: keys end in their unit, times are ISO 8601, ids of 64 bits are text.


def stream_json(stream: dict[str, Any]) -> dict[str, object]:
    """A stream."""
    kept, held_by = stream["retention"], stream["held_by"]
    return {
        "name": stream["name"],
        "is_here": stream["is_here"],
        "pubends": stream["pubends"],
        "taken_from": stream["taken_from"],
        "messages": stream["messages"] if stream["is_here"] else None,
        "size_bytes": stream["bytes"] if stream["is_here"] else None,
        "retention": None
        if kept is None
        else {
            "size_bytes": kept["size_bytes"],
            "age_seconds": None if kept["age_ns"] is None else kept["age_ns"] / 1e9,
            "overflow": _overflow(kept),
        },
        "slow_host": stream["slow_host"],
        "held_by": None if held_by is None else _host_json(held_by),
        "hosts": [_host_json(host) for host in stream["hosts"]],
        "unsynced": stream["unsynced"],
        "is_disk_full": stream["is_disk_full"],
        "throttles": stream["throttles"],
        "readings": stream["readings"],
    }


def durable_json(durable: dict[str, Any]) -> dict[str, object]:
    """A durable name."""
    found = durable["lag"]
    return {
        "name": durable["name"],
        "streams": durable["streams"],
        "deleted": durable["deleted"],
        "host": durable["host"],
        "filter": durable["filter"],
        "positions": [
            position(pubend, tick) for pubend, tick in sorted(durable["positions"].items())
        ],
        "lag": {
            "messages": found["messages"],
            "lag_seconds": found["seconds"],
            "retention_share": found["retention_share"],
            "is_upper_bound": found["is_upper_bound"],
        },
        "reader": durable["reader"],
        "reader_since": _at_or_none(durable["reader_since_ns"]),
        "unread_since": _at_or_none(durable["unread_since_ns"]),
        "expire_seconds": durable["expire_seconds"],
        "attempts": durable["attempts"],
        "poison": durable["poison"],
        "parked": durable["parked"],
        "stopped": durable["stopped"] or None,
    }


def position(pubend: str, tick: int) -> str:
    """As users write it."""
    from penstock.api.position import Position

    return str(Position(int(pubend, 16), tick))


def _host_json(host: dict[str, Any]) -> dict[str, object]:
    return {
        "host": host["host"],
        "durables": host["durables"],
        "since": at(host["since_ns"]),
        "messages": host["messages"],
        "size_bytes": host["bytes"],
        "lag_seconds": host["seconds"],
        "retention_share": host["retention_share"],
    }


def _at_or_none(unix_ns: int | None) -> str | None:
    return None if unix_ns is None else at(unix_ns)


def _overflow(kept: dict[str, Any]) -> str:
    return "drop" if kept["drops"] else "refuse"
