"""RP_CONF and START: the segments that a relay point, or the publisher, sends a transfer into.

A *segment* is what one filter reaches: the links from its head, a publisher or relay, to its ends,
which are subscribers and further relays. Segments have numbers of their own in each transfer.
"""

from __future__ import annotations

import msgspec

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    ENDS_A_PAGE_MAX,
    SEGMENTS_MAX,
    CastBody,
    check_choice,
    check_links,
    check_page,
)


class SegmentFilter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A segment: its links downstream, and those of the way back."""

    segment: int
    plan: int
    choice: int
    links: int
    # Hops to the farthest end.
    depth: int
    up_choice: int
    up_links: int

    def __post_init__(self) -> None:
        check_unsigned(16, segment=self.segment, plan=self.plan)
        check_choice(choice=self.choice, up_choice=self.up_choice)
        check_links(self.links, self.up_links)
        check_unsigned(8, depth=self.depth)


class SegmentEnd(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An end of a segment, and the links that lead to it alone."""

    segment: int
    node: int
    path: int

    def __post_init__(self) -> None:
        check_unsigned(16, segment=self.segment)
        check_unsigned(32, node=self.node)
        check_links(self.path)


class HeadConfig(CastBody, frozen=True, kw_only=True, gc=False):
    """A page of the segments of one head; it takes effect when all pages have come."""

    # Counts the configurations that `controller` sends in one of its lives.
    version: int
    page: int
    pages: int
    # Heads one below the other, from this one to a subscriber.
    levels: int
    segments: tuple[SegmentFilter, ...] = ()
    ends: tuple[SegmentEnd, ...] = ()
    controller: int = 0

    def __post_init__(self) -> None:
        check_unsigned(32, version=self.version, controller=self.controller)
        check_page(self.page, self.pages)
        check_unsigned(8, levels=self.levels)
        check_count("segments", self.segments, SEGMENTS_MAX)
        check_count("ends", self.ends, ENDS_A_PAGE_MAX)


class RelayConfig(HeadConfig, frozen=True, kw_only=True, gc=False):
    """RP_CONF, to a relay point; no segments: it is none any more."""

    parent_segment: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_unsigned(16, parent_segment=self.parent_segment)


class Start(HeadConfig, frozen=True, kw_only=True, gc=False):
    """To the publisher: begin, or go on with other segments."""
