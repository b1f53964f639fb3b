"""Whom a publisher listens to, and how often: whoever reports may lie, and shout.

    who limits a flow        reports 100 times a second, and asks for 100 filters
    all others together      ask for 250 filters a second: who has invented names is one of them
    who asks for an echo     50 times a second; all together 4 000 times
    a round trip             two seconds, at most

What is beyond that is refused, counted under its reason, and so is whoever said it,
as far as the table of those reaches. Names are not proved: see `docs/congestion.md`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.token_bucket import TokenBucket

# Reasons, which are counters, too.
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
# Those that ask for their round trip three times do so 100 ms apart.
_ECHO_INTERVAL_MIN_NS: Final = 20 * MILLISECOND
# A liar's would make rounds of feedback last minutes.
ROUND_TRIP_MAX_NS: Final = 2 * SECOND
_REPORTERS_MAX: Final = 4_096
# Receivers ask for an echo twice a minute; of more it is not known how many they are.
_RECEIVER_EXPIRY_NS: Final = 90 * SECOND
_RECEIVERS_MAX: Final = 16_384
_REFUSALS_MAX: Final = 256


class FeedbackLimits:
    """Of one publisher."""

    def __init__(self, counters: dict[str, int]) -> None:
        self._counters: Final = counters
        # Of those who limit flows: what they say, and what they ask for.
        self._receiver_budgets: Final[BoundedDict[int, tuple[TokenBucket, TokenBucket]]] = (
            BoundedDict(_REPORTERS_MAX)
        )
        self._unknown_receivers: Final = TokenBucket.of_one_second(_UNKNOWN_RECEIVERS_PER_S)
        self._echo_budget: Final = TokenBucket.of_one_second(_ECHOES_PER_S)
        # Who asked for an echo, and when; who asked last comes last.
        self._receivers: Final[OrderedDict[int, Instant]] = OrderedDict()
        # Who is refused all the time is never the first.
        self._refusals: Final[BoundedDict[int, dict[str, int]]] = BoundedDict(
            _REFUSALS_MAX, recent=True
        )
        for name in REFUSAL_REASONS:
            counters.setdefault(name, 0)

    @property
    def refusals(self) -> Mapping[int, Mapping[str, int]]:
        """Who was refused how often, and why; whoever was last stands at the end."""
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
        """Counts it, and remembers who it was."""
        self._counters[reason] += times
        reasons = self._refusals.get(receiver, {})
        reasons[reason] = reasons.get(reason, 0) + times
        self._refusals[receiver] = reasons

    def admits_report(self, receiver: int, now: Instant, *, is_known: bool) -> bool:
        """Whether a report is read at all; strangers pay for what they ask for instead."""
        if not is_known or self._budgets(receiver)[0].try_take(now):
            return True
        self.refuse(receiver, FEEDBACK_LIMITED)
        return False

    def admits_request(self, receiver: int, now: Instant, *, is_known: bool) -> bool:
        """Whether it may ask for one more filter."""
        budget = self._budgets(receiver)[1] if is_known else self._unknown_receivers
        if budget.try_take(now):
            return True
        self.refuse(receiver, FEEDBACK_LIMITED)
        return False

    @property
    def receiver_count(self) -> int:
        """How many asked for an echo of late."""
        return len(self._receivers)

    def admits_echo(self, receiver: int, now: Instant) -> bool:
        """Whether it gets an echo."""
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
    """A round trip that somebody says it has."""
    return min(rtt_ns, ROUND_TRIP_MAX_NS)
