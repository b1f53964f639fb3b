"""What is known of the tracked flows of one publisher; knows no timer and asks for nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from penstock.kernel.instant import Instant
from penstock.wire.frames.data import FlowTag

_UNCLAIMED_MAX: Final = 256


@dataclass(slots=True)
class GapState:
    """One number that is missing, and how often it was asked for."""

    detected_ns: Instant
    attempts: int = 0


@dataclass(slots=True)
class FlowGaps:
    """One flow: the numbers that are missing, and whose interests they concern."""

    highest_seq: int
    interest_ids: set[int] = field(default_factory=set)
    gaps: dict[int, GapState] = field(default_factory=dict)


@dataclass(slots=True)
class FlowGapState:
    """One publisher: its flows that are tracked here."""

    epoch: int
    flows: dict[int, FlowGaps] = field(default_factory=dict)
    # How many share a flow of it, at most.
    group_size: int = 0
    # The last numbers that came of flows that we did not know, and may yet be told of.
    unclaimed: deque[FlowTag] = field(default_factory=lambda: deque(maxlen=_UNCLAIMED_MAX))
