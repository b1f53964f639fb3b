"""Nothing is delivered that was not published, or that the client did not ask for.

Judged by `Predicate.matches` alone; no index and no Bloom set is believed. What a
client took back, or replaced, may still come for as long as `grace_ns`.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, named
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data


class Exact(Checker):
    """No false delivery."""

    name = "exact"

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:
        """An application gets something."""
        watch = self.watch
        if watch.terms.garbles:
            return
        known = watch.published.get(frame.id) if isinstance(frame, Data) else None
        if known is None or known.frame != frame:
            self.object_to(client, f"got what nobody published: {frame}")
            return
        message = known.frame.message
        if not watch.wishes.may_get(client, message, since=now - watch.terms.grace_ns):
            self.object_to(
                client,
                f"got {named(known.frame)} and asks for {list(watch.wishes.of(client).values())}",
            )
