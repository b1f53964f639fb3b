"""What one subscription gets of one pubend: how far it has read, and what is unacknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from penstock.guaranteed.host.attempts import Attempts
from penstock.guaranteed.host.reader import Decided, Reader
from penstock.guaranteed.settings import MB
from penstock.guaranteed.stream_item import StreamItem, size_of_item
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.knowledge import Gap

if TYPE_CHECKING:
    from penstock.guaranteed.host.subscription import Subscription

# Of what is held while the hand-over to reader 0 is under way.
_HELD_MAX: Final = 1_000
HELD_BYTES_MAX: Final = 4 * MB


class Feed:
    """The way of one pubend into one subscription.

    It follows reader 0, or a reader of its own that catches up; while that one closes in on a fixed
    target, what reader 0 passes above the target is held.
    """

    def __init__(
        self,
        subscription: Subscription,
        pubend: int,
        position: int,
        *,
        attempts: Attempts,
        acknowledged: int | None = None,
    ) -> None:
        self.subscription: Final = subscription
        self.pubend: Final = pubend
        # The first tick that has not been passed to the client.
        self.position = position
        # Reader 0 knows nothing of this subscription's filter before that tick; None: not yet.
        self.valid_from: int | None = None
        # Its own reader, while it catches up.
        self.reader: Reader | None = None
        # What its own reader, or reader 0, has passed and there was no credit for.
        self.pending: Final[deque[Decided]] = deque()
        self.is_live = False
        # While it follows reader 0: what pending messages take in memory.
        self.pending_bytes = 0
        # While the hand-over to reader 0 is under way: what that one passes behind the target.
        self.target: int | None = None
        self.held: Final[deque[Decided]] = deque()
        self._held_bytes = 0
        # Handed out and not acknowledged, oldest first.
        self.unacknowledged: Final[deque[int]] = deque()
        self.attempts: Final = attempts
        # A client that goes on behind its cursor has what lies between, and may still lose it:
        # the cursor waits for an ACK.
        self._resumed_at = position - 1
        self._acknowledged = position - 1 if acknowledged is None else acknowledged

    def cursor(self) -> int:
        """The last tick that needs no reading any more."""
        if self._acknowledged < self._resumed_at:
            return self._acknowledged
        return (self.unacknowledged[0] if self.unacknowledged else self.position) - 1

    def acknowledge(self, tick: int) -> None:
        """Everything up to and including `tick` has been dealt with."""
        self._acknowledged = max(tick, self._acknowledged)
        self.attempts.acknowledge(tick)
        unacknowledged = self.unacknowledged
        while unacknowledged and unacknowledged[0] <= tick:
            unacknowledged.popleft()

    def began_before(self, tick: int) -> bool:
        """Whether this feed has handed the message out, and not one for an earlier connection."""
        return tick > self._resumed_at

    def is_unacknowledged(self, tick: int) -> bool:
        """Whether the client has it, and has not said that it was dealt with."""
        return tick in self.unacknowledged or self._acknowledged < tick <= self._resumed_at

    def rewind(self, position: int) -> None:
        """What lies at or above `position` is read again; `PubendReading.rewind` calls it."""
        while self.unacknowledged and self.unacknowledged[-1] >= position:
            self.unacknowledged.pop()
        self.position = position
        self._resumed_at = min(self._resumed_at, position - 1)

    def restart(self, position: int) -> None:
        """Begins somewhere else: nothing before it counts any more."""
        self.unacknowledged.clear()
        self.position = position
        self._resumed_at = self._acknowledged = position - 1

    def wait(self, decided: Iterable[Decided]) -> None:
        """Keeps what reader 0 passes until there is credit again."""
        for each in decided:
            if isinstance(each, Gap):
                self.pending.append(each)
            elif self.wants(each):
                self.pending.append(each)
                self.pending_bytes += size_of_item(each)

    def drop_pending(self, count: int) -> None:
        """The first of what waits has been dealt with."""
        for _ in range(count):
            each = self.pending.popleft()
            if self.is_live and not isinstance(each, Gap):
                self.pending_bytes -= size_of_item(each)

    def hold(self, decided: Iterable[Decided]) -> None:
        """Keeps what reader 0 passes behind the target; if it is too much, a new one is fixed."""
        assert self.target is not None
        for each in decided:
            if isinstance(each, Gap):
                # It may begin before the target and end behind it.
                if each.stop > self.target:
                    self.held.append(each)
            elif each.tick >= self.target and each.matches(self.subscription.predicate):
                self.held.append(each)
                self._held_bytes += size_of_item(each)
        if len(self.held) > _HELD_MAX or self._held_bytes > HELD_BYTES_MAX:
            self.drop_held()
            self.target = None

    def drop_held(self) -> None:
        """What reader 0 has passed is not needed, or too much."""
        self.held.clear()
        self._held_bytes = 0

    def may_read(self, now: Instant) -> bool:
        """Whether what is read now could be handed out."""
        return self.subscription.has_credit and not self.attempts.is_backing_off(now)

    def wants(self, item: StreamItem) -> bool:
        """Whether it is to be handed out."""
        return item.tick >= self.position and item.matches(self.subscription.predicate)
