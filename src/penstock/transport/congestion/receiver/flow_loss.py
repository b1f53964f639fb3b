"""Loss detection by the sequence numbers of one flow, which reveal every loss.

A skipped message may only be late. It is lost once three later messages have arrived, as in TCP,
or one round trip has passed. Does not know the messages that were lost.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ

_LATER_ARRIVALS: Final = 3
# A larger jump is no loss: the numbering has restarted, or belongs to another flow.
_JUMP_MAX: Final = 1_024


class _SkippedSeq:
    __slots__ = ("expected_ns", "later_arrivals")

    def __init__(self, expected_ns: Instant) -> None:
        self.expected_ns: Final = expected_ns
        self.later_arrivals = 0


class FlowLossDetector:
    """Detects the losses of one flow at one receiver."""

    __slots__ = ("_last_seq", "_skipped")

    def __init__(self) -> None:
        self._last_seq: int | None = None
        self._skipped: Final[OrderedDict[int, _SkippedSeq]] = OrderedDict()

    def on_received(self, flow_seq: int, rtt_ns: Duration, now: Instant) -> list[Instant]:
        """Record an arrival; return the expected arrival times of messages lost by now."""
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
        """Forget all sequence numbers: the flow has ended or changed."""
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
