"""Checks that clients get only published messages that match their subscriptions.

Only `Predicate.matches` decides; no index and no Bloom set is trusted. A subscription that was
ended or replaced may still be served for `grace_ns`.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data


class OnlyMatching(Checker):
    """Checks every delivery: no false positives."""

    name = "exact"

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:
        """Checks a delivery."""
        runner = self.runner
        if runner.guarantees.corrupts_frames:
            return
        known = runner.published.get(frame.id) if isinstance(frame, Data) else None
        if known is None or known.frame != frame:
            self.report_violation(client, f"got what nobody published: {frame}")
            return
        message = known.frame.message
        if not runner.interests.may_receive(
            client, message, since=now - runner.guarantees.grace_ns
        ):
            self.report_violation(
                client,
                f"got {describe_message(known.frame)} and asks for"
                f" {list(runner.interests.predicates_of(client).values())}",
            )
