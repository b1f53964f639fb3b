"""A subscription that a client has attached: what it wants, its credit, and its feeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.reader import Decided
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import ClientFrame
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.subscription import GapNotice, HandOut, Position


class Subscription:
    """One subscription of one connection."""

    def __init__(
        self,
        port: Port,
        number: int,
        *,
        predicate: Predicate,
        durable: Durable | None,
        resumed: bool,
        send: Callable[[Port, ClientFrame], None],
    ) -> None:
        self.port: Final = port
        self.number: Final = number
        self.predicate: Final = predicate
        self.durable: Final = durable
        self.resumed: Final = resumed
        self.feeds: Final[dict[int, Feed]] = {}
        self.is_attached = False
        self.credit_messages = 0
        self.credit_bytes = 0
        self.handed_out = 0
        self._send: Final = send

    @property
    def has_credit(self) -> bool:
        """Whether one more message may be handed out."""
        return self.credit_messages > 0 and self.credit_bytes > 0

    def hand_out(self, feed: Feed, decided: Decided) -> None:
        """Passes on a message or a gap that the feed wants."""
        if isinstance(decided, Gap):
            start = max(decided.start, feed.position)
            if start < decided.stop:
                self._send(
                    self.port,
                    GapNotice(
                        subscription=self.number,
                        pubend=feed.pubend,
                        start=start,
                        stop=decided.stop,
                        reason=decided.reason,
                        messages=decided.messages,
                    ),
                )
                feed.position = decided.stop
                # The cursor stays before it until the client has dealt with what lies behind.
                feed.unacknowledged.append(start)
            return
        item: StreamItem = decided
        feed.unacknowledged.append(item.tick)
        feed.position = item.tick + 1
        self.handed_out += 1
        self.credit_messages -= 1
        self.credit_bytes -= len(item.body)
        self._send(
            self.port,
            HandOut(
                subscription=self.number,
                pubend=feed.pubend,
                tick=item.tick,
                published_ns=item.published_ns,
                attempt=1,
                body=item.body,
            ),
        )

    def positions(self) -> tuple[Position, ...]:
        """Where each pubend goes on."""
        return tuple(Position(feed.pubend, feed.position - 1) for feed in self.feeds.values())
