"""Loss events of one session, and at which rate they happen.

All that is lost within a round trip is one event [C6]: TCP, too, halves its window once.

Records do not tell of every loss, but with probability P = 1 − (1 − ρ(1 − p))^k, where ρ is
the share of the publisher's messages that are for us. So a message counts as P messages, and
p is larger by 1/P [C4, C5]; where a flow's numbers tell of all, P is 1. `literal` is the
dissertation's way instead: a message after a gap that the record does not cover counts as
(1 − ρ)^(g − k), and every loss begins a new interval.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.tfrc.loss_intervals import LossIntervals

# Below this nothing can be concluded from a record.
_SHARE_MIN: Final = 1e-3


class LossEvents:
    """What came and what did not; `begin` is told how long the first interval shall be."""

    __slots__ = ("_event_start_ns", "_is_literal", "events", "intervals", "lost_messages")

    def __init__(self, *, is_literal: bool = False) -> None:
        self._is_literal: Final = is_literal
        self.intervals: Final = LossIntervals(discounts=not is_literal)
        # When the first loss of the last event would have come.
        self._event_start_ns: Instant | None = None
        self.events = 0
        self.lost_messages = 0

    @property
    def has_events(self) -> bool:
        """Whether there was an event."""
        return self._event_start_ns is not None

    @property
    def loss_event_rate(self) -> float:
        """Loss events a message, those included that nobody could tell of."""
        return self.intervals.loss_event_rate

    def on_received(self, weight: float = 1.0) -> None:
        """A message."""
        self.intervals.count(weight)

    def on_loss(self, expected_ns: Instant, rtt_ns: Duration) -> bool:
        """One that would have come then; whether it is a new event, and not the first."""
        self.lost_messages += 1
        if self._event_start_ns is None:
            # How long the time before it was is for the caller to say: see `begin`.
            self._event_start_ns = expected_ns
            self.events += 1
            return False
        if not self._is_literal and expected_ns <= self._event_start_ns + rtt_ns:
            self.intervals.count()
            return False
        self._event_start_ns = max(self._event_start_ns, expected_ns)
        self.events += 1
        self.intervals.close()
        return True

    def on_mark(self, now: Instant, rtt_ns: Duration) -> bool:
        """One is about to count as come, but marked: as if one were lost, and nothing is missing.

        Whether it is a new event, and not the first.
        """
        if self._event_start_ns is not None and now <= self._event_start_ns + rtt_ns:
            return False
        self.events += 1
        is_first = self._event_start_ns is None
        self._event_start_ns = now
        if is_first:
            return False
        self.intervals.close()
        self.intervals.count(-1)
        return True

    def begin(self, first_length: float, now: Instant) -> None:
        """At the first event, or as if there were one now: what went before it."""
        if self._event_start_ns is None:
            self._event_start_ns = now
        self.intervals.begin(first_length)

    def clear(self) -> None:
        """Nothing was heard for long: what was is no guide."""
        self._event_start_ns = None
        self.intervals.clear()


def detection_probability(match_share: float, record_entries: int) -> float:
    """How likely it is that a record of so many entries tells of a loss.

    `match_share` is the share of the publisher's messages that came here, ρ(1 − p).
    """
    share = min(1.0, max(match_share, _SHARE_MIN))
    return 1 - (1 - share) ** max(1, record_entries)


def literal_message_weight(gap: int, record_entries: int, match_share: float) -> float:
    """As how many messages one counts in 003 that comes after so many that did not."""
    return (1 - match_share) ** max(0, gap - record_entries)
