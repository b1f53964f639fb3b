"""A subscription that a client has attached: what it wants, its credit, and its feeds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from penstock.guaranteed.connections import SendToClient
from penstock.guaranteed.host.attempts import Verdict
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.hand_outs import hand_outs
from penstock.guaranteed.host.parking import ParkedMessage
from penstock.guaranteed.host.reader import Decided
from penstock.guaranteed.stream_item import StreamItem, is_everything
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import STOP_MAX, TICK_MAX, GapReason
from penstock.wire.frames.guaranteed.client import RefusedKind, refusal
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    Attached,
    GapNotice,
    HandOut,
    Position,
)


class Subscription:
    """One subscription of one connection."""

    def __init__(
        self,
        port: Port,
        frame: Attach,
        *,
        durable: Durable | None,
        resumed: bool,
        since_ns: int,
        send: SendToClient,
        has_room: Callable[[], bool],
        on_poison: Callable[[Feed, StreamItem], bool],
    ) -> None:
        self.port: Final = port
        self.number: Final = frame.subscription
        self.predicate: Final = frame.predicate
        # As it was asked for.
        self.frame: Final = frame
        self.durable: Final = durable
        self.resumed: Final = resumed
        self.feeds: Final[dict[int, Feed]] = {}
        self.pubends: Sequence[int] = ()
        # Cursors of pubends that were deleted, until the client has heard of it.
        self.recreated: Final[dict[int, int]] = {}
        # What the client, as it comes, has yet to hear of: lost with a restored log.
        self.lost: Final[list[Gap]] = []
        # HOLDs that are under way.
        self.unplaced = 0
        self.is_attached = False
        # A message was handed out too often: nothing more is, and it is about to end.
        self.is_stopped = False
        # When it was attached, in Unix nanoseconds.
        self.since_ns: Final = since_ns
        # Parked messages that are to be handed out once more, and those that were.
        self.retries: Final[deque[ParkedMessage]] = deque()
        self.retried: Final[dict[Position, None]] = {}
        self.credit_messages = 0
        self.credit_bytes = 0
        self.handed_out = 0
        self._send: Final = send
        # Whether the connection takes more: credit says what the client wants, not what it reads.
        self._has_room: Final = has_room
        self._on_poison: Final = on_poison

    @property
    def has_credit(self) -> bool:
        """Whether one more message may be handed out."""
        return self.credit_messages > 0 and self.credit_bytes > 0 and self._has_room()

    def hand_out_untried(self, feed: Feed, decided: Iterable[Decided]) -> int:
        """Hands out messages that nobody has had before, as far as nothing speaks against it.

        Returns how many of `decided` were dealt with; what follows goes one by one, by `offer`.
        """
        if self.is_stopped or not self._has_room():
            return 0
        start, stop = feed.attempts.untried()
        messages, size_bytes = self.credit_messages, self.credit_bytes
        predicate, position = self.predicate, feed.position
        takes_all = is_everything(predicate)
        items: list[StreamItem] = []
        done = 0
        for item in decided:
            if type(item) is not StreamItem:
                break
            tick = item.tick
            if tick >= position and (takes_all or predicate.matches(item.message)):
                if not start <= tick < stop or messages <= 0 or size_bytes <= 0:
                    break
                items.append(item)
                messages -= 1
                size_bytes -= len(item.body)
            done += 1
        if items:
            last = items[-1].tick
            feed.position = last + 1
            feed.attempts.hand_out(last)
            self.handed_out += len(items)
            self.credit_messages, self.credit_bytes = messages, size_bytes
            for frame in hand_outs(self.number, feed.pubend, items):
                feed.unacknowledged.extend(frame.ticks)
                self._send(self.port, frame)
        return done

    def offer(self, feed: Feed, item: StreamItem, *, now: Instant) -> bool:
        """Hands out a message, or has it put aside; False if it must wait."""
        if self.is_stopped or not self.has_credit:
            return False
        verdict = feed.attempts.admit(item.tick, now=now)
        if verdict is Verdict.WAIT:
            return False
        if verdict is Verdict.POISON:
            if not self._on_poison(feed, item):
                self.is_stopped = True
                return False
            feed.attempts.skip(item.tick)
            feed.position = item.tick + 1
            return True
        feed.unacknowledged.append(item.tick)
        feed.position = item.tick + 1
        attempt = feed.attempts.hand_out(item.tick)
        self._hand_out(feed.pubend, item.tick, item.published_ns, attempt, item.body)
        return True

    def tell_gap(self, feed: Feed, gap: Gap) -> None:
        """Passes on that messages are gone."""
        start = max(gap.start, feed.position)
        if start < gap.stop:
            self._send(
                self.port,
                GapNotice(
                    subscription=self.number,
                    pubend=feed.pubend,
                    start=start,
                    stop=gap.stop,
                    reason=gap.reason,
                    messages=gap.messages,
                ),
            )
            feed.position = gap.stop
            # The cursor stays before it until the client has dealt with what lies behind.
            feed.unacknowledged.append(start)

    def tell_recreated(self) -> None:
        """Tells the client that its streams are others than those it has read."""
        for pubend, tick in self.recreated.items():
            if tick < TICK_MAX:
                self._send(
                    self.port,
                    GapNotice(
                        subscription=self.number,
                        pubend=pubend,
                        start=tick + 1,
                        stop=STOP_MAX,
                        reason=GapReason.RECREATED,
                        messages=0,
                    ),
                )

    def retry_parked(self) -> None:
        """Hands out parked messages once more, as far as there is credit; they move no cursor."""
        while self.retries and self.is_attached and self.has_credit:
            parked = self.retries.popleft()
            self.retried[parked.position] = None
            attempt = parked.attempts + 1
            self._hand_out(parked.pubend, parked.tick, parked.published_ns, attempt, parked.body)

    def _hand_out(
        self, pubend: int, tick: int, published_ns: int, attempt: int, body: bytes
    ) -> None:
        self.handed_out += 1
        self.credit_messages -= 1
        self.credit_bytes -= len(body)
        self._send(
            self.port,
            HandOut(
                subscription=self.number,
                pubend=pubend,
                attempt=attempt,
                ticks=(tick,),
                published_ns=(published_ns,),
                bodies=(body,),
            ),
        )

    def tell_positions(self) -> None:
        """Tells the client where each pubend goes on: at first, and after going back."""
        self._send(
            self.port,
            Attached(subscription=self.number, resumed=self.resumed, positions=self.positions()),
        )

    def refuse(self, reason: str, text: str) -> None:
        """Tells the client why the subscription ends."""
        self._send(self.port, refusal(RefusedKind.SUBSCRIPTION, self.number, reason, text))

    def positions(self) -> tuple[Position, ...]:
        """Where each pubend goes on."""
        return tuple(Position(feed.pubend, feed.position - 1) for feed in self.feeds.values())
