"""What a pubend keeps in its log, and what the log tells it: the same for every kind of disk."""

from __future__ import annotations

import msgspec

from penstock.wire.frames.guaranteed.base import GapReason


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One message, at its tick."""

    tick: int
    # Unix time by the clock of the broker.
    published_ns: int
    publisher: str
    # Rises with each message of the publisher.
    publication: int
    # Attributes and payload, as they came.
    body: bytes


class LogSnapshot(msgspec.Struct, frozen=True, gc=False):
    """What the pubend knows of publishers at this place in the log.

    Takes a record number like a message. `rolled` of the pubend asks for one when a segment begins,
    so that a start reads back to the last one only.
    """

    state: bytes


class LogGap(msgspec.Struct, frozen=True, gc=False):
    """Ticks from `start` up to `stop` that the log can no longer tell of."""

    start: int
    stop: int
    reason: GapReason
    # How many messages are gone at the most.
    messages: int


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """The answer to a `Fetch`: records and gaps by rising ticks, complete up to `stop`.

    `stop` lies at most at the tick of the next record, and may lie beyond what was asked for: then
    the log has nothing in between. It lies before the end of what was asked for when `bytes_max`
    was reached, but at least one record was read.
    """

    records: tuple[LogRecord, ...]
    gaps: tuple[LogGap, ...]
    stop: int


class Counted(msgspec.Struct, frozen=True, gc=False):
    """The answer to a `Count`."""

    messages: int
    # When the oldest of them was published, in Unix nanoseconds; 0 if there is none.
    oldest_ns: int = 0


class LogSegment(msgspec.Struct, frozen=True, gc=False):
    """A stretch of the log that is kept or trimmed whole."""

    last_tick: int
    last_published_ns: int
    size_bytes: int
    messages: int


class RecoveredLog(msgspec.Struct, frozen=True):
    """What a log found when it was opened."""

    # No tick above it was ever said.
    lease: int
    # The number that the next record takes.
    next_number: int
    # The tick of the last record; 0 for none.
    last_tick: int
    # Everything up to and including this tick has been trimmed; 0 if nothing was.
    trimmed_upto: int
    # The last snapshot, and the messages behind it, maybe without their bodies.
    snapshot: bytes | None
    since_snapshot: tuple[LogRecord, ...]
    # Damage that was found; the log never cuts it off.
    damaged: tuple[LogGap, ...] = ()
    # All that is there, the oldest first.
    segments: tuple[LogSegment, ...] = ()
