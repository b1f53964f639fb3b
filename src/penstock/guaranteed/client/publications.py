"""What a client publishes until it is confirmed: in order and within credit.

Knows nothing of connections: it says which frames may leave now, on a new one all of them again.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from penstock.wire.frames.guaranteed.base import MESSAGES_MAX
from penstock.wire.frames.guaranteed.publication import Publish, Stored, StoredRun, stored_at
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt

# Of one frame, unless it has a single message: so little that the broker can begin with it while
# the rest is written.
FRAME_BYTES: Final = 64 << 10


class _Publication(msgspec.Struct, frozen=True, gc=False):
    """One that is not confirmed yet."""

    stream: str
    body: bytes
    kind: type[Publish]


class Publications:
    """All publications of one client that are not confirmed yet."""

    def __init__(self, first_id: int) -> None:
        # By id, in the order in which they were published.
        self._open: Final[dict[int, _Publication]] = {}
        self._open_bytes = 0
        # Those that have not left on this connection, in order.
        self._unsent: Final[deque[int]] = deque()
        self._unsent_bytes = 0
        self._in_flight: Final[set[int]] = set()
        self._in_flight_bytes = 0
        self._last_id = first_id
        self._window_messages = 0
        self._window_bytes = 0

    def __len__(self) -> int:
        return len(self._open)

    def is_worth_sending(self) -> bool:
        """Whether waiting for more would only delay what is there: nobody works on anything."""
        return not self._in_flight or self._unsent_bytes >= FRAME_BYTES

    def room(self) -> int:
        """How many more there may be at once; while there is no connection they wait."""
        if self._open_bytes >= self._window_bytes and self._open:
            return 0
        return max(1, self._window_messages) - len(self._open)

    def add(self, stream: str, body: bytes, publication: int | None, with_receipt: bool) -> int:
        """One more, to be sent by `next_frame`; returns its id."""
        if publication is None:
            id_ = self._last_id = self._last_id + 1
        else:
            id_ = publication
            self._last_id = max(self._last_id, id_)
        kind = PublishWithReceipt if with_receipt else Publish
        self._open[id_] = _Publication(stream, body, kind)
        self._open_bytes += len(body)
        self._unsent.append(id_)
        self._unsent_bytes += len(body)
        return id_

    def next_frame(self) -> Publish | None:
        """The next publications that may leave within credit, in one frame."""
        unsent, open_ = self._unsent, self._open
        if not unsent:
            return None
        ids: list[int] = []
        bodies: list[bytes] = []
        first: _Publication | None = None
        frame_bytes = 0
        messages = self._window_messages - len(self._in_flight)
        room_bytes = self._window_bytes - self._in_flight_bytes
        while unsent:
            publication = open_.get(unsent[0])
            if publication is None:
                unsent.popleft()
                continue
            size_bytes = len(publication.body)
            if first is None:
                # One message is always within credit.
                if self._in_flight and (messages <= 0 or size_bytes > room_bytes):
                    break
                first = publication
            elif (
                len(ids) >= min(messages, MESSAGES_MAX)
                or frame_bytes + size_bytes > min(room_bytes, FRAME_BYTES)
                or publication.stream != first.stream
                or publication.kind is not first.kind
            ):
                break
            ids.append(unsent.popleft())
            bodies.append(publication.body)
            frame_bytes += size_bytes
        if first is None:
            return None
        self._in_flight.update(ids)
        self._in_flight_bytes += frame_bytes
        self._unsent_bytes -= frame_bytes
        return first.kind(stream=first.stream, ids=tuple(ids), bodies=tuple(bodies))

    def grant(self, messages: int, size_bytes: int) -> None:
        """The broker takes so much unconfirmed."""
        self._window_messages, self._window_bytes = messages, size_bytes

    def confirm(self, run: StoredRun) -> list[StoredRun]:
        """These are on disk; returns those that were not known to be."""
        ids, in_flight, pop = run.ids, self._in_flight, self._open.pop
        if not all(map(in_flight.__contains__, ids)):
            return [
                stored_at(id_, Stored(run.pubend, tick, run.is_duplicate))
                for id_, tick in zip(ids, run.ticks, strict=True)
                if self.close(id_)
            ]
        in_flight.difference_update(ids)
        size_bytes = sum([len(pop(id_).body) for id_ in ids])
        self._in_flight_bytes -= size_bytes
        self._open_bytes -= size_bytes
        return [run]

    def close(self, id_: int) -> bool:
        """One was confirmed or refused; False if it was not open."""
        publication = self._open.pop(id_, None)
        if publication is None:
            return False
        size_bytes = len(publication.body)
        self._open_bytes -= size_bytes
        if id_ in self._in_flight:
            self._in_flight.remove(id_)
            self._in_flight_bytes -= size_bytes
        else:
            self._unsent_bytes -= size_bytes
        return True

    def connection_lost(self) -> None:
        """Everything leaves once more, in its order."""
        self._in_flight.clear()
        self._in_flight_bytes = 0
        self._unsent.clear()
        self._unsent.extend(self._open)
        self._unsent_bytes = self._open_bytes
