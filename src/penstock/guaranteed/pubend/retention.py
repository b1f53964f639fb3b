"""What is trimmed, and when a stream is full.

Messages that every row has passed are kept for their age, for replay, and go first when the size is
reached. Others are never given up, unless the stream was told to drop.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from penstock.guaranteed.log_record import LogSegment
from penstock.guaranteed.settings import Retention

# How finely ages and sizes are known in memory: a stretch of the log is kept or trimmed whole. A
# small stream has smaller ones, else it could not be trimmed at all.
STRETCH_BYTES: Final = 1_000_000
STRETCHES_MIN: Final = 16
# What a record takes on disk besides its body, by and large.
RECORD_BYTES: Final = 40


class _Stretch(msgspec.Struct):
    last_tick: int
    last_published_ns: int
    size_bytes: int
    messages: int


class LogSize:
    """The sizes of a log by stretches of it, oldest first."""

    def __init__(self, retention: Retention) -> None:
        self.retention = retention
        self.size_bytes = 0
        self.messages = 0
        size_bytes_max = retention.size_bytes
        self._stretch_bytes: Final = (
            STRETCH_BYTES
            if size_bytes_max is None
            else min(STRETCH_BYTES, size_bytes_max // STRETCHES_MIN)
        )
        self._stretches: Final[deque[_Stretch]] = deque()

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

    def add(self, tick: int, published_ns: int, body_bytes: int) -> None:
        """A message has been appended."""
        size_bytes = body_bytes + RECORD_BYTES
        last = self._stretches[-1] if self._stretches else None
        if last is None or last.size_bytes + size_bytes > self._stretch_bytes:
            last = _Stretch(tick, published_ns, 0, 0)
            self._stretches.append(last)
        last.last_tick, last.last_published_ns = tick, published_ns
        last.size_bytes += size_bytes
        last.messages += 1
        self.size_bytes += size_bytes
        self.messages += 1

    def is_full(self, body_bytes: int) -> bool:
        """Whether one more message would exceed the size; `trim` may make room."""
        limit_bytes = self.retention.size_bytes
        return (
            limit_bytes is not None
            and not self.retention.drops
            and self.size_bytes + body_bytes + RECORD_BYTES > limit_bytes
        )

    def behind(self, tick: int) -> tuple[int, int]:
        """Messages and bytes above a tick, at most: a stretch counts whole."""
        messages = size_bytes = 0
        for stretch in reversed(self._stretches):
            if stretch.last_tick <= tick:
                break
            messages += stretch.messages
            size_bytes += stretch.size_bytes
        return messages, size_bytes

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
