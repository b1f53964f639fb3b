"""What requests have taught of one publisher; knows no single request."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.transport.recovery.request_timers import AdaptiveTimer

_RECENT_REPAIRS: Final = 8


class RequestState:
    """What is known of getting one publisher's messages again."""

    __slots__ = (
        "adaptive_timer",
        "epoch",
        "group_size",
        "has_repaired",
        "recent_repairers",
        "unanswered",
    )

    def __init__(self, adaptive_timer: AdaptiveTimer) -> None:
        self.adaptive_timer = adaptive_timer
        self.recent_repairers: Final[deque[int]] = deque(maxlen=_RECENT_REPAIRS)
        # For how many messages in a row the publisher was named, and did not answer.
        self.unanswered = 0
        self.has_repaired = False
        self.epoch: int | None = None
        # How many there are who could lose the same, if the publisher has told.
        self.group_size: int | None = None
