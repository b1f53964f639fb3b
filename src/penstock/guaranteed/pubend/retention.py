"""What is trimmed, and when a stream is full.

Messages that every row has passed are kept for their age, for replay, and go first when the size is
reached. Others are never given up, unless the stream was told to drop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from penstock.guaranteed.log_record import LogRecord, LogSegment
from penstock.guaranteed.settings import Retention

# How finely ages and sizes are known in memory: a stretch of the log is kept or trimmed whole. A
# small stream has smaller ones, else it could not be trimmed at all.
STRETCH_BYTES: Final = 1_000_000
STRETCHES_MIN: Final = 16
# What a record takes on disk besides its body, by and large.
RECORD_BYTES: Final = 40


def record_bytes(body: bytes) -> int:
    """What a message takes on disk, by and large."""
    return len(body) + RECORD_BYTES


class _Stretch(msgspec.Struct):
    last_tick: int
    last_published_ns: int
    size_bytes: int
    messages: int


class LogSize:
    """The sizes of a log by stretches of it, oldest first."""

    def __init__(self, retention: Retention) -> None:
        self.size_bytes = 0
        self.messages = 0
        self._stretches: Final[deque[_Stretch]] = deque()
        self.change(retention)

    def change(self, retention: Retention) -> None:
        """Other bounds hold from now on."""
        self.retention = retention
        size_bytes_max = retention.size_bytes
        self._stretch_bytes = (
            STRETCH_BYTES
            if size_bytes_max is None
            else min(STRETCH_BYTES, size_bytes_max // STRETCHES_MIN)
        )

    def restore(self, segments: tuple[LogSegment, ...]) -> None:
        """Takes up what the log found on disk."""
        for segment in segments:
            self._stretches.append(
                _Stretch(
                    segment.last_tick,
                    segment.last_published_ns,
                    segment.size_bytes,
                    segment.messages,
                )
            )
            self.size_bytes += segment.size_bytes
            self.messages += segment.messages

    def lose(self, last_tick: int, messages: int) -> None:
        """So many messages up to a tick cannot be read; less than none can be read again."""
        for stretch in self._stretches:
            if stretch.last_tick >= last_tick:
                lost = min(messages, stretch.messages)
                stretch.messages -= lost
                self.messages -= lost
                return

    def add(self, records: Sequence[LogRecord]) -> None:
        """Messages have been appended."""
        stretches, stretch_bytes = self._stretches, self._stretch_bytes
        last = stretches[-1] if stretches else None
        size_bytes = sum([len(record.body) for record in records]) + RECORD_BYTES * len(records)
        if last is not None and last.size_bytes + size_bytes <= stretch_bytes:
            # All of them fit, and come at once.
            last.last_tick = records[-1].tick
            last.last_published_ns = max(last.last_published_ns, records[-1].published_ns)
            last.size_bytes += size_bytes
            last.messages += len(records)
            self.size_bytes += size_bytes
            self.messages += len(records)
            return
        for record in records:
            size_bytes = record_bytes(record.body)
            if last is None or last.size_bytes + size_bytes > stretch_bytes:
                last = _Stretch(record.tick, record.published_ns, 0, 0)
                stretches.append(last)
            last.last_tick = record.tick
            # A clock may be set back.
            last.last_published_ns = max(last.last_published_ns, record.published_ns)
            last.size_bytes += size_bytes
            last.messages += 1
            self.size_bytes += size_bytes
        self.messages += len(records)

    @property
    def room_bytes(self) -> float:
        """What it takes without a trim; without end where nothing bounds it."""
        limit_bytes = self.retention.size_bytes
        return inf if limit_bytes is None else limit_bytes - self.size_bytes

    def is_full(self, body_bytes: int) -> bool:
        """Whether one more message would exceed the size; `trim` may make room."""
        limit_bytes = self.retention.size_bytes
        return (
            limit_bytes is not None
            and not self.retention.drops
            and self.size_bytes + body_bytes + RECORD_BYTES > limit_bytes
        )

    def last_before(self, published_ns: int) -> int:
        """A tick up to which all was published before that time, or a little less than all."""
        tick = 0
        for stretch in self._stretches:
            if stretch.last_published_ns >= published_ns:
                break
            tick = stretch.last_tick
        return tick

    def behind(self, tick: int) -> tuple[int, int]:
        """Messages and bytes above a tick, at most: a stretch counts whole."""
        messages = size_bytes = 0
        for stretch in reversed(self._stretches):
            if stretch.last_tick <= tick:
                break
            messages += stretch.messages
            size_bytes += stretch.size_bytes
        return messages, size_bytes

    def newest_bytes(self, messages: int) -> int:
        """What the newest messages take, by and large: those of one stretch count alike."""
        size_bytes = 0
        for stretch in reversed(self._stretches):
            if messages <= stretch.messages:
                return size_bytes + stretch.size_bytes * messages // max(1, stretch.messages)
            size_bytes += stretch.size_bytes
            messages -= stretch.messages
        return size_bytes

    def trim(
        self, limit: int | None, *, synced: int, wall_ns: int, needed_bytes: int = 0
    ) -> int | None:
        """Gives up what it may; returns the tick up to which the log is to be trimmed.

        `limit` is the tick that every host has passed, None if no host holds anything; `synced` is
        the last one that is on disk.
        """
        upto = None
        while (
            len(self._stretches) > 1
            and self._stretches[0].last_tick <= synced
            and self._may_go(self._stretches[0], limit, wall_ns, needed_bytes)
        ):
            gone = self._stretches.popleft()
            self.size_bytes -= gone.size_bytes
            self.messages -= gone.messages
            upto = gone.last_tick
        return upto

    def _may_go(self, oldest: _Stretch, limit: int | None, wall_ns: int, needed_bytes: int) -> bool:
        retention = self.retention
        is_read = limit is None or oldest.last_tick <= limit
        if not is_read and not retention.drops:
            return False
        if retention.size_bytes is not None:
            # Trimming begins a stretch early, so that who publishes need not wait for it.
            wanted_bytes = self.size_bytes + needed_bytes + self._stretch_bytes
            if wanted_bytes > retention.size_bytes:
                return True
        age_ns = wall_ns - oldest.last_published_ns
        return retention.age_ns is not None and age_ns > retention.age_ns
