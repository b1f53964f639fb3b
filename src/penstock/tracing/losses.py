"""Rows about missing messages, one for each ordering of a receiver.

A row is added when a message is missing no longer: it arrived, was not for us, or was given up.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.records import Loss
from penstock.tracing.deliveries import Orderings
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.transport.facts import Absence


class Losses:
    """Adds a `Loss` for each absence that ended."""

    __slots__ = ("_add", "_names", "_orderings")

    def __init__(self, add: AddRow, names: Names, orderings: Orderings) -> None:
        self._add: Final = add
        self._names: Final = names
        self._orderings: Final = orderings

    def on_absence(self, subscriber: str, absence: Absence, now: Instant) -> None:
        """Adds the history of a message whose absence ends now."""
        ahead_ns = now - absence.ended_ns
        pub, epoch, seq = absence.id
        loss = Loss(
            self._orderings[subscriber][absence.subscription],
            subscriber,
            self._names[pub],
            epoch,
            seq,
            absence.detected_ns + ahead_ns,
            absence.found_by,
            None if absence.lost_ns is None else absence.lost_ns + ahead_ns,
            absence.state,
            now,
            absence.resolution,
        )
        self._add(loss)
