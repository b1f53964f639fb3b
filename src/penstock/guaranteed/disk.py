"""What a broker has asked of its disk, and who waits for the answers.

Requests are outputs of the machine; the driver answers them in any order between logs and store,
but saves in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from penstock.guaranteed.log_record import Counted, Fetched, LogRecord, LogSnapshot
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Append, Count, Fetch, Save, Trim

DiskOutput: TypeAlias = Append | Fetch | Count | Trim | Save
OnFetched: TypeAlias = Callable[[Fetched, Instant], None]
OnCounted: TypeAlias = Callable[[Counted, Instant], None]
OnSaved: TypeAlias = Callable[[Instant], None]


class Disk:
    """Outputs in order, and the continuations of those that are answered."""

    def __init__(self) -> None:
        self.outputs: Final[deque[DiskOutput]] = deque()
        self._serial = 0
        self._fetches: Final[dict[int, OnFetched]] = {}
        self._counts: Final[dict[int, OnCounted]] = {}
        self._saves: Final[dict[int, OnSaved | None]] = {}

    @property
    def unanswered(self) -> int:
        """How many fetches and saves are under way."""
        return len(self._fetches) + len(self._saves)

    def append(
        self, log: str, upto: int, records: Sequence[LogRecord | LogSnapshot], lease: int
    ) -> None:
        """Writes records, of which the last has the number `upto`, or the lease alone."""
        outputs = self.outputs
        last = outputs[-1] if outputs else None
        if type(last) is not Append or last.log != log:
            last = Append(log, upto, [], lease)
            outputs.append(last)
        last.records.extend(records)
        last.upto, last.lease = upto, lease

    def fetch(self, log: str, start: int, stop: int, *, bytes_max: int, then: OnFetched) -> None:
        """Reads ticks from `start` up to `stop`."""
        self._serial += 1
        self._fetches[self._serial] = then
        self.outputs.append(Fetch(log, self._serial, start, stop, bytes_max))

    def count(self, log: str, after: int, upto: int, then: OnCounted) -> None:
        """Counts messages behind `after`, up to and including `upto`."""
        self._serial += 1
        self._counts[self._serial] = then
        self.outputs.append(Count(log, self._serial, after, upto))

    def trim(self, log: str, upto: int) -> None:
        """Gives up records up to and including a tick."""
        self.outputs.append(Trim(log, upto))

    def save(self, key: str, value: bytes | None, then: OnSaved | None = None) -> None:
        """Stores a value under a key, or deletes it."""
        self._serial += 1
        self._saves[self._serial] = then
        self.outputs.append(Save(self._serial, key, value))

    def fetched(self, request: int, result: Fetched, now: Instant) -> None:
        """Passes an answer on; an unknown request is a bug of the driver."""
        self._fetches.pop(request)(result, now)

    def counted(self, request: int, result: Counted, now: Instant) -> None:
        """Passes a count on."""
        self._counts.pop(request)(result, now)

    def saved(self, serial: int, now: Instant) -> None:
        """Tells whoever waits that a value is stored."""
        then = self._saves.pop(serial)
        if then is not None:
            then(now)
