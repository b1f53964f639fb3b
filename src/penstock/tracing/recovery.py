"""Rows about requests for lost messages and the repairs that answer them.

Knows only frames sent: what a repair achieves is a delivery or a loss.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.records import Repair, Request
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.transport.recovery.facts import RepairSent, RequestSent
from penstock.wire import size_of
from penstock.wire.quantise import delta_ns


class Recovery:
    """Adds a `Request` or a `Repair` for each such frame sent."""

    __slots__ = ("_add", "_names")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names

    def on_request(self, requester: str, sent: RequestSent, now: Instant) -> None:
        """Adds a request sent now."""
        request = sent.request
        self._add(
            Request(
                requester,
                self._names[request.pub],
                request.epoch,
                request.seq,
                now,
                request.round,
                size_of(request),
            )
        )

    def on_repair(self, repairer: str, sent: RepairSent, now: Instant) -> None:
        """Adds a repair sent now."""
        repair = sent.repair
        original = repair.original
        self._add(
            Repair(
                repairer,
                self._names[repair.requester],
                self._names[original.pub],
                original.epoch,
                original.seq,
                now - delta_ns(repair.hold_100us),
                now,
                repair.to is not None,
                size_of(repair),
            )
        )
