"""Publications that a pubend may not take yet: in order by publisher, publishers in turn."""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

from penstock.kernel.machine import Port

P = TypeVar("P")


class WaitingPublications(Generic[P]):
    """Of one pubend. Credit bounds what each connection has here."""

    def __init__(self, *, in_turn: bool = True) -> None:
        # By connection, the one whose turn it is first.
        self._queues: Final[dict[Port, deque[P]]] = {}
        # First come, first served: all of them in one queue, as the paper has it.
        self._in_turn: Final = in_turn
        self._line: Final[deque[Port]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, port: Port) -> bool:
        return port in self._queues

    def add(self, port: Port, publication: P) -> None:
        """One more of a connection."""
        queue = self._queues.get(port)
        if queue is None:
            queue = self._queues[port] = deque()
            if self._in_turn:
                self._line.append(port)
        if not self._in_turn:
            self._line.append(port)
        queue.append(publication)
        self._count += 1

    def take(self) -> tuple[Port, P] | None:
        """The next one; the turn goes on to another connection."""
        line, queues = self._line, self._queues
        while line:
            port = line.popleft()
            queue = queues.get(port)
            if queue is None:
                # It is gone, and had several places in the line.
                continue
            publication = queue.popleft()
            self._count -= 1
            if not queue:
                del queues[port]
            elif self._in_turn:
                line.append(port)
            return port, publication
        return None

    def gone(self, port: Port) -> None:
        """A connection has ended: its client repeats what was not confirmed."""
        queue = self._queues.pop(port, None)
        if queue is not None:
            self._count -= len(queue)
            if self._in_turn:
                self._line.remove(port)
