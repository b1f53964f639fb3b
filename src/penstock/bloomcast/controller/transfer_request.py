"""What a rendezvous point wants planned, and by whom: in this process, or at another node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.transfer import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRequest:
    """An offer, and who wants it."""

    publisher: int
    # The start of the publisher that made the offer, and the epoch of the offer: the publisher
    # knows nothing of plans for an earlier one.
    publisher_boot: int
    epoch: int
    # By node, the frame by which it has joined: another one, and the node has begun anew.
    subscribers: Mapping[int, Origin] = field(default_factory=dict)

    def is_same_offer(self, other: TransferRequest) -> bool:
        """Whether a publisher that knows of one knows of the other."""
        return (self.publisher, self.publisher_boot, self.epoch) == (
            other.publisher,
            other.publisher_boot,
            other.epoch,
        )


class Planning(Protocol):
    """Plans transfers, and tells heads of their plans."""

    def request(self, item: Item, request: TransferRequest, now: Instant) -> None:
        """Plans a transfer, or plans it anew."""

    def pause(self, item: Item, now: Instant) -> None:
        """Its publisher has begun anew, and is told nothing before the next request."""

    def finish(self, item: Item, stop: Stop | None, now: Instant) -> None:
        """It is over: as its publisher has said, or because nobody wants it."""

    def reached(self, nodes: Collection[int]) -> int:
        """How many nodes are known to be reached."""
