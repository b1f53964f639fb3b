"""The gaps in one publisher's tracked flows, as plain data.

Has no timers and sends nothing: `flow_gaps` does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from penstock.kernel.instant import Instant
from penstock.wire.frames.data import FlowTag

_UNCLAIMED_MAX: Final = 256


@dataclass(slots=True)
class GapState:
    """State of one missing number; `attempts` counts the requests sent for it."""

    detected_ns: Instant
    attempts: int = 0


@dataclass(slots=True)
class FlowGaps:
    """One tracked flow: its missing numbers, and the interests that use it."""

    highest_seq: int
    interest_ids: set[int] = field(default_factory=set)
    gaps: dict[int, GapState] = field(default_factory=dict)


@dataclass(slots=True)
class FlowGapState:
    """The tracked flows of one publisher, by flow id."""

    epoch: int
    flows: dict[int, FlowGaps] = field(default_factory=dict)
    # Number of subscribers that share a flow, at most.
    group_size: int = 0
    # Recent tags of unknown flows: a message may arrive before the reply that names its flow.
    unclaimed: deque[FlowTag] = field(default_factory=lambda: deque(maxlen=_UNCLAIMED_MAX))
