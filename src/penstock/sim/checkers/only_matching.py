"""Nothing is delivered that was not published, or that the client did not ask for.

Judged by `Predicate.matches` alone; no index and no Bloom set is believed. What a
client took back, or replaced, may still come for as long as `grace_ns`.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data


class OnlyMatching(Checker):
    """No false delivery."""

    name = "exact"

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:
        """An application gets something."""
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
