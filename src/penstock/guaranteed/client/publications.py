"""What a client publishes until it is confirmed: in order and within credit.

Knows nothing of connections: it says which frames may leave now, on a new one all of them again.
"""

from __future__ import annotations

from collections import deque
from itertools import compress
from typing import Final

from penstock.wire.frames.guaranteed.publication import Publish, Stored
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt


class Publications:
    """All publications of one client that are not confirmed yet."""

    def __init__(self, first_id: int) -> None:
        # What leaves is what was made when the application published: a repeat is the same frame.
        self._open: Final[dict[int, Publish]] = {}
        self._open_bytes = 0
        # Those that have not left on this connection, in order.
        self._unsent: Final[deque[Publish]] = deque()
        self._in_flight: Final[set[int]] = set()
        self._in_flight_bytes = 0
        self._last_id = first_id
        self._window_messages = 0
        self._window_bytes = 0

    def __len__(self) -> int:
        return len(self._open)

    def room(self) -> int:
        """How many more there may be at once; while there is no connection they wait."""
        if self._open_bytes >= self._window_bytes and self._open:
            return 0
        return max(1, self._window_messages) - len(self._open)

    def add(self, stream: str, body: bytes, publication: int | None, with_receipt: bool) -> Publish:
        """One more, to be sent by `send_alone` or `next_to_send`."""
        if publication is None:
            id_ = self._last_id = self._last_id + 1
        else:
            id_ = publication
            self._last_id = max(self._last_id, id_)
        kind = PublishWithReceipt if with_receipt else Publish
        frame = kind(stream=stream, id=id_, body=body)
        self._open[id_] = frame
        self._open_bytes += len(body)
        self._unsent.append(frame)
        return frame

    def send_alone(self, frame: Publish) -> bool:
        """Whether the one just added leaves at once: nothing waits, and there is credit."""
        size_bytes = len(frame.body)
        if (
            len(self._unsent) > 1
            or len(self._in_flight) >= self._window_messages
            or self._in_flight_bytes + size_bytes > self._window_bytes
        ):
            return False
        self._unsent.clear()
        self._in_flight.add(frame.id)
        self._in_flight_bytes += size_bytes
        return True

    def next_to_send(self) -> Publish | None:
        """The next one that may leave within credit."""
        while self._unsent:
            frame = self._unsent[0]
            size_bytes = len(frame.body)
            if self._in_flight and (
                len(self._in_flight) >= self._window_messages
                or self._in_flight_bytes + size_bytes > self._window_bytes
            ):
                return None
            self._unsent.popleft()
            if frame.id in self._open:
                self._in_flight.add(frame.id)
                self._in_flight_bytes += size_bytes
                return frame
        return None

    def grant(self, messages: int, size_bytes: int) -> None:
        """The broker takes so much unconfirmed."""
        self._window_messages, self._window_bytes = messages, size_bytes

    def confirm(
        self, ids: tuple[int, ...], stored: tuple[Stored, ...]
    ) -> tuple[tuple[int, ...], tuple[Stored, ...]]:
        """These are on disk; returns those that were not known to be."""
        new = [self.close(id_) for id_ in ids]
        if all(new):
            return ids, stored
        return tuple(compress(ids, new)), tuple(compress(stored, new))

    def close(self, id_: int) -> bool:
        """One was confirmed or refused; False if it was not open."""
        frame = self._open.pop(id_, None)
        if frame is None:
            return False
        size_bytes = len(frame.body)
        self._open_bytes -= size_bytes
        if id_ in self._in_flight:
            self._in_flight.remove(id_)
            self._in_flight_bytes -= size_bytes
        return True

    def connection_lost(self) -> None:
        """Everything leaves once more, in its order."""
        self._in_flight.clear()
        self._in_flight_bytes = 0
        self._unsent.clear()
        self._unsent.extend(self._open.values())
