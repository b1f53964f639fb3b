"""Losses by the numbers of one flow: exact, for nobody else's messages are counted in it.

A number that is skipped may be late only. It is lost once three that were sent after it
have come, as TCP has it, or a round trip is over.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ

_LATER_ARRIVALS: Final = 3
# A jump of more is no loss: numbers began anew, or somebody else's are mixed with them.
_JUMP_MAX: Final = 1_024


class _SkippedSeq:
    __slots__ = ("expected_ns", "later_arrivals")

    def __init__(self, expected_ns: Instant) -> None:
        self.expected_ns: Final = expected_ns
        self.later_arrivals = 0


class FlowLossDetector:
    """Of one flow, as one receiver sees them."""

    __slots__ = ("_last_seq", "_skipped")

    def __init__(self) -> None:
        self._last_seq: int | None = None
        self._skipped: Final[OrderedDict[int, _SkippedSeq]] = OrderedDict()

    def on_received(self, flow_seq: int, rtt_ns: Duration, now: Instant) -> list[Instant]:
        """This one came; returns when each that is lost now would have come."""
        ahead = 1 if self._last_seq is None else FLOW_SEQ.distance(flow_seq, self._last_seq)
        if ahead <= 0:
            self._skipped.pop(flow_seq, None)
        elif ahead > _JUMP_MAX:
            self._skipped.clear()
        elif self._last_seq is not None:
            for skipped in FLOW_SEQ.missing_between(self._last_seq, flow_seq, most=_JUMP_MAX):
                self._skipped[skipped] = _SkippedSeq(now)
        if ahead > 0:
            self._last_seq = flow_seq
        return self._take_lost(flow_seq, rtt_ns, now)

    def clear(self) -> None:
        """They begin anew."""
        self._last_seq = None
        self._skipped.clear()

    def _take_lost(self, flow_seq: int, rtt_ns: Duration, now: Instant) -> list[Instant]:
        lost = []
        for skipped_seq, skipped in list(self._skipped.items()):
            skipped.later_arrivals += FLOW_SEQ.distance(flow_seq, skipped_seq) > 0
            if skipped.later_arrivals >= _LATER_ARRIVALS or now - skipped.expected_ns >= rtt_ns:
                lost.append(skipped.expected_ns)
                del self._skipped[skipped_seq]
        return lost
