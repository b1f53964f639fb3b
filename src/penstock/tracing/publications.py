"""Rows about messages at their publishers: sent, dropped at the source, or never sent.

Does not know who should receive them; see `expectations`.
"""

from __future__ import annotations

from typing import Final

from penstock.content.message import Message
from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Publication
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.transport.facts import DroppedAtSource
from penstock.wire import size_of
from penstock.wire.codec.message import size_message
from penstock.wire.frames.data import Data

# Module constants, because an attribute lookup on an enum costs as much as making a row.
_SENT: Final = PublisherFate.SENT
_RATE_LIMITED: Final = PublisherFate.RATE_LIMITED
_DROPPED_AT_SOURCE: Final = PublisherFate.DROPPED_AT_SOURCE


class Publications:
    """Adds a `Publication` for each message that an application submits."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_sent(self, frame: Data, waited_ns: Duration, now: Instant) -> None:
        """Adds a message sent now, after `waited_ns` in the send queue."""
        size_bytes = size_of(frame)
        header_bytes = size_bytes - size_message(frame.message)
        self._add(
            Publication(
                self._names[frame.pub],
                frame.epoch,
                frame.seq,
                now - waited_ns,
                now,
                size_bytes,
                _RATE_LIMITED if waited_ns else _SENT,
                "data",
                header_bytes,
            )
        )

    def on_dropped(self, publisher: str, dropped: DroppedAtSource, now: Instant) -> None:
        """Adds a message that a full send queue dropped."""
        self._add_unsent(publisher, dropped.message, dropped.waited_ns, _DROPPED_AT_SOURCE, now)

    def on_queued_at_end(
        self, publisher: str, message: Message, waited_ns: Duration, now: Instant
    ) -> None:
        """Adds a message that is still in the send queue when the run ends."""
        self._add_unsent(publisher, message, waited_ns, _RATE_LIMITED, now)

    def _add_unsent(
        self,
        publisher: str,
        message: Message,
        waited_ns: Duration,
        fate: PublisherFate,
        now: Instant,
    ) -> None:
        """Adds an unsent message, which has no sequence number."""
        size_bytes = size_message(message)
        self._add(Publication(publisher, 0, None, now - waited_ns, None, size_bytes, fate, "data"))
