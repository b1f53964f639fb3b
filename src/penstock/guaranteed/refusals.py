"""What people read when a publication is refused: one line that says why, and what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.settings import PubendSettings
from penstock.kernel.instant import SECOND

# Durable names in one line.
NAMES_MAX: Final = 3


def publication_text(
    reason: str,
    stream: str,
    size_bytes: int,
    *,
    limits: PubendSettings,
    pubend: Pubend | None,
    address: str,
    knows_all_streams: bool,
) -> str:
    """Why a publication of that size was refused.

    `pubend` is where it would have gone, if the stream is here; else the broker at `address` has
    it. Without all parents this broker may not know it.
    """
    if reason == "stream_full":
        assert pubend is not None
        return _full_text(stream, pubend)
    where = f"at {address}" if address else "at another broker"
    texts = {
        "disk_full": f"stream {stream!r} cannot grow: the disk is full: free some of it",
        "unknown_stream": (
            f"no stream {stream!r} here: create it with 'penstock stream create {stream}'"
            if knows_all_streams
            else (
                f"no stream {stream!r} is known here while parents are away:"
                " publish where it is stored"
            )
        ),
        "not_here": f"stream {stream!r} is stored {where}: publish there",
        "too_large": (
            f"the message has {size_bytes:,} bytes:"
            f" at most {limits.message_bytes_max:,} are allowed"
        ),
        "malformed": "a message has attributes that cannot be read",
    }
    return texts[reason]


def _full_text(stream: str, pubend: Pubend) -> str:
    """Who has not read what fills a stream, and since when."""
    lowest = pubend.rows.lowest()
    if lowest is None:
        return f"stream {stream!r} is full: raise retention.size"
    host, row = lowest
    names = sorted(name for name, owner in pubend.rows.host_of.items() if owner == host)
    shown = ", ".join(map(repr, names[:NAMES_MAX]))
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    _, waiting_bytes = pubend.stored.size.behind(row.tick)
    return (
        f"stream {stream!r} is full: {size_text(waiting_bytes)} wait for {shown}{more} at {host}"
        f" since {time_text(row.since_ns)}: read or delete it, or raise retention.size"
    )


def size_text(size_bytes: int) -> str:
    """A size as people say it: 10 GB, 1.5 MB, 999 bytes."""
    for unit, unit_bytes in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        # Rounded to three digits, which may take it to the next unit.
        if size_bytes >= unit_bytes * 0.9995:
            return f"{float(f'{size_bytes / unit_bytes:.3g}'):g} {unit}"
    return f"{size_bytes} bytes"


def time_text(wall_ns: int) -> str:
    """A time of the last day as people say it: 10:42:07Z."""
    return f"{datetime.fromtimestamp(wall_ns // SECOND, UTC):%H:%M:%SZ}"
