"""UCAs of all children as few: figure 5 of the paper.

The first of a query goes up at once; what others say of the same query joins the next one.
"""

from __future__ import annotations

from math import inf
from typing import Final

from penstock.wire.frames.guaranteed.congestion import CongestionAlert

# In queries: what answers an earlier one is dropped.
_AGE_MAX: Final = 2


class AlertMerge:
    """Of one pubend, at one relay."""

    def __init__(self, pubend: int, *, keeps_all: bool = False) -> None:
        self._pubend: Final = pubend
        # [G7] As printed, what comes late leaks into the next alert, however late it is.
        self._keeps_all: Final = keeps_all
        self._seq = 0
        self._kept: CongestionAlert | None = None

    def add(self, frame: CongestionAlert) -> CongestionAlert | None:
        """A child complains; returns what goes up now."""
        if not self._keeps_all and frame.seq < self._seq - 1:
            return None
        kept = self._kept
        if kept is not None and not self._keeps_all and kept.seq < frame.seq - _AGE_MAX:
            kept = None
        merged = frame if kept is None else self._worse(kept, frame)
        if frame.seq <= self._seq:
            self._kept = merged
            return None
        self._seq, self._kept = frame.seq, None
        return merged

    def _worse(self, one: CongestionAlert, other: CongestionAlert) -> CongestionAlert:
        return CongestionAlert(
            pubend=self._pubend,
            seq=max(one.seq, other.seq),
            normal_rate=min(one.normal_rate, other.normal_rate, inf),
            recovering_rate=min(one.recovering_rate, other.recovering_rate, inf),
            position=min(one.position, other.position),
        )
