"""What past requests showed about one publisher: its repairers and its timer.

Does not know single requests: `requester` does.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.transport.recovery.request_timers import AdaptiveTimer

_RECENT_REPAIRS: Final = 8


class RequestState:
    """Request state of one publisher."""

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
        # Messages in a row for which the publisher was designated and sent no repair.
        self.unanswered = 0
        self.has_repaired = False
        self.epoch: int | None = None
        # Number of digest subscribers, if the publisher has reported it.
        self.group_size: int | None = None
