"""Rows about what brokers decide about messages, one for each decision.

Decisions about other frames than messages are not traced.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Instant
from penstock.overlay.facts import RoutingDecision
from penstock.trace.fates import DropReason, HopDecision
from penstock.trace.records import Hop
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.wire.frames.data import Data

# The overlay's literals; a lookup is quicker than a call of the enum.
_DECISIONS: Final = {decision.value: decision for decision in HopDecision}
_REASONS: Final = {reason.value: reason for reason in DropReason}


class Hops:
    """Adds a `Hop` for each decision of a broker about a message."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_decision(self, broker: str, decision: RoutingDecision, now: Instant) -> None:
        """Adds a decision made now."""
        frame = decision.frame
        if type(frame) is not Data:
            return
        self._add(
            Hop(
                now,
                broker,
                self._names[frame.pub],
                frame.epoch,
                frame.seq,
                _DECISIONS[decision.action],
                decision.towards,
                None if decision.reason is None else _REASONS[decision.reason],
                *(decision.packet_id or (None, None, None)),
            )
        )
