"""The ways back to heads: what each said in FIRST, and what it has asked.

A subscriber is the end of one segment. Symbols of others may come by false crossings, and so may
their FIRST and END: nobody can tell which is meant, so each is answered by its own way, and the
head whose end it is not ignores the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.bloomcast.subscriber.reporter import Reporter
from penstock.kernel.machine import Port
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.transfer import First


@dataclass(slots=True)
class WayBack:
    """To the head of one segment."""

    first: First
    # The version of the segment that it belongs to, and where it begins.
    plan: int
    port: Port
    reporter: Reporter
    # The first FIRST: what its sender has sent before belongs to another transfer.
    opened_by: Origin

    def follows(self, origin: Origin | None) -> bool:
        """Whether a frame of the head is a later one."""
        return origin is not None and is_later(origin, self.opened_by)


def is_later(origin: Origin, first: Origin) -> bool:
    """Whether a frame comes from the same node as another, and after it."""
    return origin.node == first.node and origin[1:] > first[1:]
