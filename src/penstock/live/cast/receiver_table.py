"""The receivers of a cast, as its sender hears them: names, who is done, who has left.

The machine plans by node ids alone; this is what a person is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from penstock.live.cast.datagram_trains import Address
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.control import Up
from penstock.wire.frames.cast.membership import Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report

_ROWS_MAX: Final = 65_535


@dataclass(slots=True)
class ReceiverRow:
    """One of them."""

    name: str
    address: Address
    is_done: bool = False
    # Why it has left; empty: it has not said why. None: it has not left.
    left: str | None = None


@dataclass(frozen=True, slots=True)
class FailedReceiver:
    """One that has not got the object."""

    name: str
    address: str
    reason: str


class ReceiverTable:
    """Of one item."""

    def __init__(self, item: Item, on_other_item: Callable[[str], None]) -> None:
        self._item: Final = item
        self._on_other_item: Final = on_other_item
        self._rows: Final[dict[int, ReceiverRow]] = {}
        self._astray: Final[set[int]] = set()

    def heard(self, frame: CastFrame, address: Address) -> None:
        """A frame has come to the sender."""
        if not isinstance(frame, Packet):
            return
        if isinstance(frame.body, Report):
            if frame.header.item == self._item and frame.body.child in self._rows:
                row = self._rows[frame.body.child]
                row.is_done = frame.body.done == frame.body.total
        elif isinstance(frame.body, Up):
            body = frame.body.body
            if isinstance(body, Subscribe):
                self._subscribed(body, frame.header.item, address)
            elif isinstance(body, Unsubscribe) and frame.header.item == self._item:
                row_left = self._rows.get(body.subscriber)
                if row_left is not None:
                    row_left.left = body.reason

    def _subscribed(self, body: Subscribe, item: Item, address: Address) -> None:
        node = body.subscriber
        if item != self._item:
            if node not in self._astray and len(self._astray) < _ROWS_MAX:
                self._astray.add(node)
                self._on_other_item(body.name or address[0])
        elif node in self._rows or len(self._rows) < _ROWS_MAX:
            is_done = node in self._rows and self._rows[node].is_done
            self._rows[node] = ReceiverRow(body.name, address, is_done)

    @property
    def joined(self) -> int:
        """How many take part, or have."""
        return sum(row.left is None for row in self._rows.values())

    @property
    def done(self) -> int:
        """How many have everything."""
        return sum(row.is_done for row in self._rows.values())

    def failed(self, silent: Iterable[int], why_silent: str) -> tuple[FailedReceiver, ...]:
        """Those that were given up, and those that have left."""
        reasons = {
            node: row.left or "left"
            for node, row in self._rows.items()
            if row.left is not None and not row.is_done
        }
        for node in silent:
            reasons.setdefault(node, why_silent)
        return tuple([self._failed(node, reason) for node, reason in reasons.items()])

    def _failed(self, node: int, reason: str) -> FailedReceiver:
        row = self._rows.get(node)
        if row is None:
            # Its SUBSCRIBE was heard by another controller.
            return FailedReceiver(f"{node:08x}", "", reason)
        host, port = row.address
        return FailedReceiver(row.name or host, f"{host}:{port}", reason)
