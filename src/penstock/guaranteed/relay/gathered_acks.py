"""Acknowledgements of all hosts behind a relay: they wait for each other, and leave together."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.guaranteed.base import ACK_ENTRIES_MAX
from penstock.wire.frames.guaranteed.rows import Ack, HostAck


class GatheredAcks:
    """Of one pubend."""

    def __init__(self, pubend: int, *, wait_ns: Duration) -> None:
        self._pubend: Final = pubend
        self._wait_ns: Final = wait_ns
        # The last of each host, and those that have not left: a link may lose them.
        self._last: Final[dict[str, HostAck]] = {}
        self._waiting: Final[dict[str, HostAck]] = {}
        self._due_at: Instant | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, frame: Ack, *, now: Instant) -> None:
        """A child says how far hosts are."""
        for entry in frame.entries:
            # A later entry of the same host says all that the earlier did; hosts are never merged.
            self._waiting[entry.host] = self._last[entry.host] = entry
        if self._due_at is None:
            self._due_at = now + self._wait_ns

    def repeat(self) -> None:
        """A new parent is told of all hosts, at once."""
        if self._last:
            self._waiting.update(self._last)
            self._due_at = 0

    def due(self, now: Instant) -> list[Ack]:
        """What leaves now."""
        if self._due_at is None or now < self._due_at:
            return []
        self._due_at = None
        entries = list(self._waiting.values())
        self._waiting.clear()
        return [
            Ack(pubend=self._pubend, entries=tuple(entries[at : at + ACK_ENTRIES_MAX]))
            for at in range(0, len(entries), ACK_ENTRIES_MAX)
        ]

    def next_wakeup(self) -> Instant | None:
        """When they leave."""
        return self._due_at
