"""Checks that a message has all bits of every filter it matches: no false negatives."""

from __future__ import annotations

from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message
from penstock.wire.frames.data import Data


class Encoding(Checker):
    """Checks every message against every filter in use when it is published."""

    name = "encoding"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder or Encoder(b"checker")

    def on_publish(self, client: str, frame: Data, *, now: Instant) -> None:  # noqa: ARG002
        """Compares bits where the exact filter matches."""
        bits = self._encoder.message_bits(frame.message)
        for interest in self.runner.interests.active():
            for f in interest.predicate.filters:
                if f.matches(frame.message) and self._encoder.filter_bits(f) & ~bits:
                    self.report_violation(
                        client, f"{describe_message(frame)} lacks bits of {f}, which it matches"
                    )
