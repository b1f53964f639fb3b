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

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.transport.recovery.admission import Budget

# Reasons, which are counters, too.
LIMITED: Final = "feedback_limited"
FLOORED: Final = "feedback_floored"
UNKNOWN: Final = "feedback_unknown"
FLOWS: Final = "flows_refused"
ECHOES: Final = "echoes_limited"
ACKS: Final = "acks_unknown"
REASONS: Final = (LIMITED, FLOORED, UNKNOWN, FLOWS, ECHOES, ACKS)

_EACH: Final = 100.0
_STRANGERS: Final = 250.0
_ECHOES: Final = 4_000.0
# Those that ask for their round trip three times do so 100 ms apart.
_ECHO_NS: Final = 20 * MILLISECOND
# A liar's would make rounds of feedback last minutes.
RTT_MAX_NS: Final = 2 * SECOND
_REPORTERS_MAX: Final = 4_096
# Receivers ask for an echo twice a minute; of more it is not known how many they are.
_RECEIVER_NS: Final = 90 * SECOND
_RECEIVERS_MAX: Final = 16_384
_REFUSED_MAX: Final = 256


class Gate:
    """Of one publisher."""

    def __init__(self, counters: dict[str, int]) -> None:
        self._counters: Final = counters
        # Of those who limit flows: what they say, and what they ask for.
        self._reports: Final[OrderedDict[int, tuple[Budget, Budget]]] = OrderedDict()
        self._strangers: Final = Budget(_STRANGERS)
        self._echoes: Final = Budget(_ECHOES)
        # Who asked for an echo, and when; who asked last comes last.
        self._receivers: Final[OrderedDict[int, Instant]] = OrderedDict()
        self._refused: Final[OrderedDict[int, dict[str, int]]] = OrderedDict()
        for name in REASONS:
            counters.setdefault(name, 0)

    @property
    def refused(self) -> Mapping[int, Mapping[str, int]]:
        """Who was refused how often, and why; whoever was last stands at the end."""
        return {who: dict(reasons) for who, reasons in self._refused.items()}

    def refuse(self, who: int, reason: str, times: int = 1) -> None:
        """Counts it, and remembers who it was."""
        self._counters[reason] += times
        reasons = self._refused.pop(who, {})
        reasons[reason] = reasons.get(reason, 0) + times
        self._refused[who] = reasons
        if len(self._refused) > _REFUSED_MAX:
            # Who is refused all the time is never the first.
            self._refused.popitem(last=False)

    def hears(self, who: int, now: Instant, *, is_known: bool) -> bool:
        """Whether a report is read at all; strangers pay for what they ask for instead."""
        if not is_known or self._budgets(who)[0].take(now):
            return True
        self.refuse(who, LIMITED)
        return False

    def asks(self, who: int, now: Instant, *, is_known: bool) -> bool:
        """Whether it may ask for one more filter."""
        budget = self._budgets(who)[1] if is_known else self._strangers
        if budget.take(now):
            return True
        self.refuse(who, LIMITED)
        return False

    @property
    def receivers(self) -> int:
        """How many asked for an echo of late."""
        return len(self._receivers)

    def echoes(self, who: int, now: Instant) -> bool:
        """Whether it gets an echo."""
        last_ns = self._receivers.pop(who, None)
        self._receivers[who] = now
        oldest = next(iter(self._receivers))
        if len(self._receivers) > _RECEIVERS_MAX or now - self._receivers[oldest] > _RECEIVER_NS:
            del self._receivers[oldest]
        is_soon = last_ns is not None and 0 <= now - last_ns < _ECHO_NS
        if is_soon or not self._echoes.take(now):
            self.refuse(who, ECHOES)
            return False
        return True

    def _budgets(self, who: int) -> tuple[Budget, Budget]:
        budgets = self._reports.get(who)
        if budgets is None:
            budgets = self._reports[who] = Budget(_EACH), Budget(_EACH)
            if len(self._reports) > _REPORTERS_MAX:
                self._reports.popitem(last=False)
        else:
            self._reports.move_to_end(who)
        return budgets


def believed_ns(rtt_ns: Duration) -> Duration:
    """A round trip that somebody says it has."""
    return min(rtt_ns, RTT_MAX_NS)
