"""In calm, whoever has asked for a message long enough gets it: no false negative.

A wish counts for a message if it was settled when the message left, and was not
taken back while the message was under way.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId


class NoFalseNegatives(Checker):
    """Says at the end who went without, so that messages have the time to arrive."""

    name = "complete"

    def __init__(self) -> None:
        self._delivered: set[tuple[str, MessageId]] = set()
        # How many deliveries were required: a run that requires none has shown nothing.
        self.required = 0

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:  # noqa: ARG002
        """An application gets something."""
        if isinstance(frame, Data):
            self._delivered.add((client, frame.id))

    def finish(self, *, now: Instant) -> None:
        """Compares what was got with what was asked for."""
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
