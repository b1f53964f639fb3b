"""REPORTs of all children as one: of each kind of hosts the one that counts.

One goes up when all children that were asked have answered, at the latest a moment after the first.
What comes later joins the next, unless it is too old by then. Where answers take longer than it is
from one query to the next, all of them come late: then they go up all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Progress

_WAIT_NS: Final = 60 * MILLISECOND
# What answers a query of longer ago is dropped. No number of queries: they may come more often
# than answers take.
_AGE_MAX_NS: Final = 5 * SECOND


class ReportMerge:
    """Of one pubend, at one relay."""

    def __init__(self, pubend: int) -> None:
        self._pubend: Final = pubend
        self._seq = 0
        # When the last ones came, the oldest first.
        self._asked_at: Final[dict[int, Instant]] = {}
        # The newest query that the answers here are about, and the one that the last report was.
        self._answered_seq = 0
        self._sent_seq = 0
        # Who has not answered the last query; when its answer leaves without them.
        self._awaited: Final[dict[Port, None]] = {}
        self._due_at: Instant | None = None
        self._normal: Progress | None = None
        self._recovering: Progress | None = None

    def on_query(self, seq: int, children: Iterable[Port], *, now: Instant) -> None:
        """A query has gone to these children."""
        self._seq = seq
        asked_at = self._asked_at
        asked_at[seq] = now
        while now - asked_at[oldest := next(iter(asked_at))] > _AGE_MAX_NS:
            del asked_at[oldest]
        self._awaited.clear()
        self._awaited.update(dict.fromkeys(children))

    def gone(self, child: Port) -> None:
        """A child has left: nobody waits for it; `due` sends what has come."""
        self._awaited.pop(child, None)

    def add(self, child: Port, frame: CongestionReport, *, now: Instant) -> None:
        """A child has answered."""
        asked_at = self._asked_at.get(frame.seq)
        if asked_at is None or now - asked_at > _AGE_MAX_NS:
            return
        if frame.seq >= self._seq:
            self._awaited.pop(child, None)
        if self._due_at is None and frame.seq > self._sent_seq:
            self._due_at = now + _WAIT_NS
        self._answered_seq = max(self._answered_seq, frame.seq)
        self._normal = _more_lagging(self._normal, frame.normal)
        self._recovering = _further_behind(self._recovering, frame.recovering)

    def due(self, now: Instant) -> CongestionReport | None:
        """What goes up now."""
        if self._due_at is None or (self._awaited and now < self._due_at):
            return None
        self._sent_seq = self._answered_seq
        report = CongestionReport(
            pubend=self._pubend,
            seq=self._sent_seq,
            normal=self._normal,
            recovering=self._recovering,
        )
        self._due_at = self._normal = self._recovering = None
        return report

    def next_wakeup(self) -> Instant | None:
        """When those who have not answered are no longer waited for."""
        return self._due_at


def _more_lagging(one: Progress | None, other: Progress | None) -> Progress | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda each: each.over_lag_ns)


def _further_behind(one: Progress | None, other: Progress | None) -> Progress | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda each: each.stop)
