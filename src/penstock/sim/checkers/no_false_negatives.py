"""Checks that, when calm, every settled subscriber gets each matching message.

A subscription counts for a message if it was settled when the message was published, and was
not ended while the message was in flight.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId


class NoFalseNegatives(Checker):
    """Reports missing deliveries at the end, after all messages have had time to arrive."""

    name = "complete"

    def __init__(self) -> None:
        self._delivered: set[tuple[str, MessageId]] = set()
        # The number of deliveries required: a run that requires none proves nothing.
        self.required = 0

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:  # noqa: ARG002
        """Notes a delivery."""
        if isinstance(frame, Data):
            self._delivered.add((client, frame.id))

    def finish(self, *, now: Instant) -> None:
        """Compares deliveries with subscriptions."""
        calm, guarantees = self.runner.calm_since, self.runner.guarantees
        if calm is None:
            return
        for publication in self.runner.published.values():
            frame, at = publication.frame, publication.at
            if at < calm or at + guarantees.carried_ns > now:
                continue
            interests = self.runner.interests.matching(
                frame.message, at - guarantees.settled_ns, at + guarantees.carried_ns
            )
            for client in dict.fromkeys([interest.client for interest in interests]):
                self.required += 1
                if (client, frame.id) not in self._delivered:
                    self.report_violation(
                        client, f"did not get {describe_message(frame)} of {publication.client}"
                    )
