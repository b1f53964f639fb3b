"""What one subscription gets of one pubend: how far it has read, and what is unacknowledged."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from penstock.guaranteed.host.reader import Decided, Reader
from penstock.guaranteed.stream_item import StreamItem

if TYPE_CHECKING:
    from penstock.guaranteed.host.subscription import Subscription


class Feed:
    """The way of one pubend into one subscription.

    It follows reader 0, or a reader of its own that catches up; while that one closes in on a fixed
    target, what reader 0 passes above the target is held.
    """

    def __init__(self, subscription: Subscription, pubend: int, position: int) -> None:
        self.subscription: Final = subscription
        self.pubend: Final = pubend
        # The first tick that has not been passed to the client.
        self.position = position
        # Reader 0 knows nothing of this subscription's filter before that tick; None: not yet.
        self.valid_from: int | None = None
        # Its own reader, while it catches up.
        self.reader: Reader | None = None
        # What its own reader has passed and there was no credit for.
        self.pending: Final[deque[Decided]] = deque()
        self.is_live = False
        # While the hand-over to reader 0 is under way: what that one passes behind the target.
        self.target: int | None = None
        self.held: Final[deque[Decided]] = deque()
        # Handed out and not acknowledged, oldest first.
        self.unacknowledged: Final[deque[int]] = deque()

    def cursor(self) -> int:
        """The last tick that needs no reading any more."""
        return (self.unacknowledged[0] if self.unacknowledged else self.position) - 1

    def acknowledge(self, tick: int) -> None:
        """Everything up to and including `tick` has been dealt with."""
        unacknowledged = self.unacknowledged
        while unacknowledged and unacknowledged[0] <= tick:
            unacknowledged.popleft()

    def wants(self, item: StreamItem) -> bool:
        """Whether it is to be handed out."""
        return item.tick >= self.position and item.matches(self.subscription.predicate)
