"""Groups the losses of one session into loss events and computes their rate.

All losses within one round trip are one event [C6], because TCP halves its window once for them.

A record of k entries reveals a loss only with probability P = 1 − (1 − ρ(1 − p))^k, where ρ is
the share of the publisher's messages that match here. Each received message therefore counts as
P messages, which raises p by the factor 1/P [C4, C5]; with flow sequence numbers every loss is
visible and P is 1. The literal law follows the dissertation instead: a message after a gap of g
messages, longer than the record, counts as (1 − ρ)^(g − k), and every loss begins a new interval.
The module does not know how losses are detected.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.tfrc.loss_intervals import LossIntervals

# With a smaller share of matching messages a record says nothing about losses.
_SHARE_MIN: Final = 1e-3


class LossEvents:
    """The loss events of one session; the caller sets the first interval with `begin`."""

    __slots__ = ("_event_start_ns", "_is_literal", "events", "intervals", "lost_messages")

    def __init__(self, *, is_literal: bool = False) -> None:
        self._is_literal: Final = is_literal
        self.intervals: Final = LossIntervals(discounts=not is_literal)
        # The expected arrival of the first loss of the last event.
        self._event_start_ns: Instant | None = None
        self.events = 0
        self.lost_messages = 0

    @property
    def has_events(self) -> bool:
        """Whether any loss event has occurred."""
        return self._event_start_ns is not None

    @property
    def loss_event_rate(self) -> float:
        """Loss events per message, with an estimate of those that no record revealed."""
        return self.intervals.loss_event_rate

    def on_received(self, weight: float = 1.0) -> None:
        """Count a received message as `weight` messages of the current interval."""
        self.intervals.count(weight)

    def on_loss(self, expected_ns: Instant, rtt_ns: Duration) -> bool:
        """Record a loss; return whether it begins a new event that is not the first."""
        self.lost_messages += 1
        if self._event_start_ns is None:
            # The caller sets the length of the interval before the first event: see `begin`.
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
        """Treat a congestion mark as a loss; return whether it begins an event after the first.

        Called before `on_received` counts the marked message, which is not missing.
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
        """Start the history with one interval of `first_length` messages, ended by an event."""
        if self._event_start_ns is None:
            self._event_start_ns = now
        self.intervals.begin(first_length)

    def clear(self) -> None:
        """Forget the history: after a long silence it predicts nothing."""
        self._event_start_ns = None
        self.intervals.clear()


def detection_probability(match_share: float, record_entries: int) -> float:
    """The probability that a record of `record_entries` entries reveals a loss.

    `match_share` is the share of the publisher's messages that arrive here, ρ(1 − p).
    """
    share = min(1.0, max(match_share, _SHARE_MIN))
    return 1 - (1 - share) ** max(1, record_entries)


def literal_message_weight(gap: int, record_entries: int, match_share: float) -> float:
    """The number of messages that one message after `gap` missing ones counts as in 003."""
    return (1 - match_share) ** max(0, gap - record_entries)
