"""What the heads of a transfer send into: values, as the controller keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from penstock.bloomcast.controller.network import DirectedLink


class PathEnd(NamedTuple):
    """An end of a segment: a subscriber, a relay or both; and the filter of its path alone."""

    node: int
    path: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What one filter reaches from its head; `down` and `up` are filters, as integers."""

    number: int
    # Which version of the segment this is; wraps.
    plan: int
    head: int
    links: tuple[DirectedLink, ...]
    choice: int
    down: int
    # Hops to the farthest end.
    depth: int
    # The way back, without those by which ends on a LAN send to their head, or towards it.
    up_links: tuple[DirectedLink, ...]
    up_choice: int
    up: int
    ends: tuple[PathEnd, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The segments of the publisher or of a relay."""

    # By number.
    segments: tuple[int, ...]
    # Heads one below the other, from this one to a subscriber; 0 without any.
    levels: int
    # None for the publisher.
    parent_segment: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPlan:
    """The segments of a transfer."""

    publisher: int
    tag_epoch: int
    # By number, in ascending order.
    segments: Mapping[int, Segment]
    # By node, each one after the head that it is an end of.
    heads: Mapping[int, Head]
    # The next new segment's, so that packets on their way do not meet another under their number.
    next_number: int = 0
    # Who wants the object and is not reached: there is no path, or no room on its LAN.
    left_out: tuple[int, ...] = ()

    @property
    def relays(self) -> tuple[int, ...]:
        """All heads but the publisher."""
        return tuple(node for node in self.heads if node != self.publisher)
