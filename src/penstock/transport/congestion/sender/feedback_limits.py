"""Rate limits on feedback.

A receiver may send false reports, and may send too many; this module bounds the second.

    each limiting receiver   100 reports and 100 requests for filters per second
    all others together      250 requests for filters per second, whatever ids they invent
    echo requests            50 per second and receiver, 4 000 in total
    a reported round trip    at most two seconds

Anything beyond these limits is refused and counted by reason, and by receiver for the 256
receivers refused last. Receiver ids are not authenticated: see `docs/congestion.md`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.token_bucket import TokenBucket

# Reasons for a refusal, which are also counter names.
FEEDBACK_LIMITED: Final = "feedback_limited"
FEEDBACK_FLOORED: Final = "feedback_floored"
FEEDBACK_UNKNOWN: Final = "feedback_unknown"
FLOWS_REFUSED: Final = "flows_refused"
ECHOES_LIMITED: Final = "echoes_limited"
ACKS_UNKNOWN: Final = "acks_unknown"
REFUSAL_REASONS: Final = (
    FEEDBACK_LIMITED,
    FEEDBACK_FLOORED,
    FEEDBACK_UNKNOWN,
    FLOWS_REFUSED,
    ECHOES_LIMITED,
    ACKS_UNKNOWN,
)

_PER_RECEIVER_PER_S: Final = 100.0
_UNKNOWN_RECEIVERS_PER_S: Final = 250.0
_ECHOES_PER_S: Final = 4_000.0
# Well below the 100 ms between the three echo requests of a receiver that joins.
_ECHO_INTERVAL_MIN_NS: Final = 20 * MILLISECOND
# A false report could otherwise make feedback rounds last minutes.
ROUND_TRIP_MAX_NS: Final = 2 * SECOND
_REPORTERS_MAX: Final = 4_096
# Receivers request an echo twice a minute; beyond the maximum they are not counted.
_RECEIVER_EXPIRY_NS: Final = 90 * SECOND
_RECEIVERS_MAX: Final = 16_384
_REFUSALS_MAX: Final = 256


class FeedbackLimits:
    """The limits of one publisher on all its receivers."""

    def __init__(self, counters: dict[str, int]) -> None:
        self._counters: Final = counters
        # Budgets of limiting receivers: for reports and for requests.
        self._receiver_budgets: Final[BoundedDict[int, tuple[TokenBucket, TokenBucket]]] = (
            BoundedDict(_REPORTERS_MAX)
        )
        self._unknown_receivers: Final = TokenBucket.of_one_second(_UNKNOWN_RECEIVERS_PER_S)
        self._echo_budget: Final = TokenBucket.of_one_second(_ECHOES_PER_S)
        # The last echo request of each receiver, least recent first.
        self._receivers: Final[OrderedDict[int, Instant]] = OrderedDict()
        # Ordered by last refusal, so that a receiver refused all the time is never evicted.
        self._refusals: Final[BoundedDict[int, dict[str, int]]] = BoundedDict(
            _REFUSALS_MAX, recent=True
        )
        for name in REFUSAL_REASONS:
            counters.setdefault(name, 0)

    @property
    def refusals(self) -> Mapping[int, Mapping[str, int]]:
        """Refusals by receiver and reason; the receiver refused last is at the end."""
        return {receiver: dict(reasons) for receiver, reasons in self._refusals.items()}

    @property
    def refused_receivers(self) -> int:
        """How many these are."""
        return len(self._refusals)

    @property
    def budgets(self) -> int:
        """Receivers with a budget of their own."""
        return len(self._receiver_budgets)

    def refuse(self, receiver: int, reason: str, times: int = 1) -> None:
        """Count a refusal by reason and by receiver."""
        self._counters[reason] += times
        reasons = self._refusals.get(receiver, {})
        reasons[reason] = reasons.get(reason, 0) + times
        self._refusals[receiver] = reasons

    def admits_report(self, receiver: int, now: Instant, *, is_known: bool) -> bool:
        """Whether to read a report; unknown receivers are limited by their requests instead."""
        if not is_known or self._budgets(receiver)[0].try_take(now):
            return True
        self.refuse(receiver, FEEDBACK_LIMITED)
        return False

    def admits_request(self, receiver: int, now: Instant, *, is_known: bool) -> bool:
        """Whether a receiver may request a quota for one more filter."""
        budget = self._budgets(receiver)[1] if is_known else self._unknown_receivers
        if budget.try_take(now):
            return True
        self.refuse(receiver, FEEDBACK_LIMITED)
        return False

    @property
    def receiver_count(self) -> int:
        """The number of receivers that requested an echo in about the last 90 s."""
        return len(self._receivers)

    def admits_echo(self, receiver: int, now: Instant) -> bool:
        """Whether to reply to an echo request."""
        last_ns = self._receivers.pop(receiver, None)
        self._receivers[receiver] = now
        oldest = next(iter(self._receivers))
        if (
            len(self._receivers) > _RECEIVERS_MAX
            or now - self._receivers[oldest] > _RECEIVER_EXPIRY_NS
        ):
            del self._receivers[oldest]
        is_soon = last_ns is not None and 0 <= now - last_ns < _ECHO_INTERVAL_MIN_NS
        if is_soon or not self._echo_budget.try_take(now):
            self.refuse(receiver, ECHOES_LIMITED)
            return False
        return True

    def _budgets(self, receiver: int) -> tuple[TokenBucket, TokenBucket]:
        budgets = self._receiver_budgets.use(receiver)
        if budgets is None:
            budgets = self._receiver_budgets[receiver] = (
                TokenBucket.of_one_second(_PER_RECEIVER_PER_S),
                TokenBucket.of_one_second(_PER_RECEIVER_PER_S),
            )
        return budgets


def capped_round_trip_ns(rtt_ns: Duration) -> Duration:
    """A reported round trip, capped at two seconds."""
    return min(rtt_ns, ROUND_TRIP_MAX_NS)
