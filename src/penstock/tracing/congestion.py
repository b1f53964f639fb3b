"""Rows about feedback: what receivers report to publishers about each flow.

Knows only reports sent; what a publisher makes of them is in samples of its flows.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.records import Feedback
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.transport.congestion.facts import FeedbackSent
from penstock.wire import size_of


class Congestion:
    """Adds a `Feedback` for each flow of each feedback frame sent."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_feedback(self, subscriber: str, report: FeedbackSent, now: Instant) -> None:
        """Adds the flows of a report sent now."""
        publisher, size_bytes = self._names[report.frame.pub], size_of(report.frame)
        for flow in report.flows:
            self._add(
                Feedback(
                    subscriber,
                    publisher,
                    flow.flow,
                    now,
                    report.rtt_ns,
                    report.loss_event_rate,
                    report.received_mps,
                    report.allowed_mps,
                    flow.quota_mps,
                    flow.is_limiting,
                    size_bytes,
                )
            )
