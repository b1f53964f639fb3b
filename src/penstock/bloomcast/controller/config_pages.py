"""What heads are told of a plan: START for the publisher, RP_CONF for relays, in pages."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.segment_plan import Segment, TransferPlan
from penstock.bloomcast.filters.packet_filter import NO_LINKS
from penstock.wire.frames.cast.base import ENDS_A_PAGE_MAX, SEGMENTS_MAX
from penstock.wire.frames.cast.plan import (
    HeadConfig,
    RelayConfig,
    SegmentEnd,
    SegmentFilter,
    Start,
)

# As encoded. A page full of filters leaves no room for ends: both would not fit a datagram.
_FILTER_BYTES: Final = 69
_END_BYTES: Final = 37
_PAGE_BYTES_MAX: Final = ENDS_A_PAGE_MAX * _END_BYTES


def heads_to_tell(old: TransferPlan | None, new: TransferPlan) -> list[int]:
    """Whose configuration is another one: heads before those above them, former relays last."""
    changed = [
        node
        for node in reversed([*new.heads])
        if old is None or node not in old.heads or _is_changed(old, new, node)
    ]
    gone = [] if old is None else [node for node in old.heads if node not in new.heads]
    return changed + gone


def _is_changed(old: TransferPlan, new: TransferPlan, node: int) -> bool:
    head = new.heads[node]
    if old.heads[node] != head or (node == new.publisher and old.left_out != new.left_out):
        return True
    return any(old.segments[number] != new.segments[number] for number in head.segments)


def config_pages(
    plan: TransferPlan,
    node: int,
    *,
    version: int,
    controller: int = 0,
    was_publisher: bool = False,
) -> list[HeadConfig]:
    """The pages for a head of the plan, or for a node that is none any more."""
    head = plan.heads.get(node)
    if head is None:
        if was_publisher:
            return [Start(controller=controller, version=version, page=0, pages=1, levels=0)]
        return [
            RelayConfig(
                controller=controller,
                version=version,
                page=0,
                pages=1,
                levels=0,
                parent_segment=0,
            )
        ]
    left_out = plan.left_out if node == plan.publisher else ()
    contents = _contents([plan.segments[number] for number in head.segments], left_out)
    if head.parent_segment is None:
        return [
            Start(
                controller=controller,
                version=version,
                page=page,
                pages=len(contents),
                levels=head.levels,
                segments=filters,
                ends=ends,
            )
            for page, (filters, ends) in enumerate(contents)
        ]
    return [
        RelayConfig(
            controller=controller,
            version=version,
            page=page,
            pages=len(contents),
            levels=head.levels,
            parent_segment=head.parent_segment,
            segments=filters,
            ends=ends,
        )
        for page, (filters, ends) in enumerate(contents)
    ]


def _contents(
    segments: list[Segment], left_out: tuple[int, ...]
) -> list[tuple[tuple[SegmentFilter, ...], tuple[SegmentEnd, ...]]]:
    """Filters first; the last page of them takes ends as well.

    Who is left out is an end without a path, so that the publisher can name those who got nothing.
    """
    filters = [_filter(segment) for segment in segments]
    ends = [
        SegmentEnd(segment=segment.number, node=end.node, path=end.path)
        for segment in segments
        for end in segment.ends
    ]
    ends += [SegmentEnd(segment=0, node=node, path=NO_LINKS) for node in left_out]
    pages = []
    filters_at = ends_at = 0
    while True:
        own_filters = tuple(filters[filters_at : filters_at + SEGMENTS_MAX])
        filters_at += len(own_filters)
        room_bytes = _PAGE_BYTES_MAX - len(own_filters) * _FILTER_BYTES
        own_ends = tuple(ends[ends_at : ends_at + room_bytes // _END_BYTES])
        ends_at += len(own_ends)
        pages.append((own_filters, own_ends))
        if filters_at == len(filters) and ends_at == len(ends):
            return pages


def _filter(segment: Segment) -> SegmentFilter:
    return SegmentFilter(
        segment=segment.number,
        plan=segment.plan,
        choice=segment.choice,
        links=segment.down,
        depth=segment.depth,
        up_choice=segment.up_choice,
        up_links=segment.up,
    )
