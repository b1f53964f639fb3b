"""Messages that are not on disk yet, and who waits to hear that they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.guaranteed.log_record import LogRecord
from penstock.kernel.machine import Port


class Appended(msgspec.Struct, frozen=True):
    """Messages of one client, appended together, with numbers from `number` on."""

    number: int
    records: list[LogRecord]
    port: Port

    def part(self, start: int, stop: int) -> Appended:
        """Some of them, by their places."""
        return Appended(self.number + start, self.records[start:stop], self.port)


class Unsynced:
    """Of one pubend, in the order of the log."""

    def __init__(self) -> None:
        self._batches: Final[deque[Appended]] = deque()
        # Who has repeated a publication meanwhile, by its tick.
        self._repeated: Final[dict[int, list[Port]]] = {}

    def __len__(self) -> int:
        """The number of messages."""
        return sum(len(batch.records) for batch in self._batches)

    @property
    def first_tick(self) -> int | None:
        """The tick of the oldest; None if all is on disk."""
        return self._batches[0].records[0].tick if self._batches else None

    def add(self, number: int, records: list[LogRecord], port: Port) -> None:
        """Messages have been appended; the first has this number."""
        self._batches.append(Appended(number, records, port))

    def repeat(self, tick: int, port: Port) -> bool:
        """Another client, or another connection, waits for it too; False if it is on disk."""
        first = self.first_tick
        if first is None or tick < first:
            return False
        self._repeated.setdefault(tick, []).append(port)
        return True

    def take(self, upto: int) -> Iterator[Appended]:
        """What has come to disk: all up to and including this number."""
        batches = self._batches
        while batches and batches[0].number <= upto:
            batch = batches.popleft()
            synced = upto + 1 - batch.number
            if synced < len(batch.records):
                batches.appendleft(batch.part(synced, len(batch.records)))
                batch = batch.part(0, synced)
            yield batch

    def take_repeated(self, batch: Appended) -> Iterator[tuple[LogRecord, Port]]:
        """Who else waited for messages that have come to disk."""
        for record in batch.records if self._repeated else ():
            for port in self._repeated.pop(record.tick, ()):
                yield record, port

    def waiting(self) -> Iterator[tuple[Port, int]]:
        """Who waits for which publication."""
        for batch in self._batches:
            for record in batch.records:
                for port in (batch.port, *self._repeated.get(record.tick, ())):
                    yield port, record.publication
