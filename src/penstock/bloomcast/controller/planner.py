"""From a network to the plan of a transfer, and from its plan to the next.

A segment keeps its number for as long as its head has one with links of it, and its version for as
long as nothing of it changes: heads of other segments notice nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.controller.draft import (
    HUB_LIMITS,
    LITERAL_LIMITS,
    DraftSegment,
    FilterLimits,
    crowded_out,
)
from penstock.bloomcast.controller.network import Network, neighbourhood
from penstock.bloomcast.controller.path_filters import filled_segment, is_unchanged
from penstock.bloomcast.controller.relays_bfs import bfs_segments
from penstock.bloomcast.controller.relays_hub import hub_segments
from penstock.bloomcast.controller.segment_plan import Head, Segment, TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Tree, shortest_path_tree
from penstock.kernel.sequence import SequenceSpace

# Numbers of segments, and of their versions.
_NUMBERS: Final = SequenceSpace(16)


class RelayChoice(Enum):
    """How relays are chosen."""

    HUB = auto()
    # As in the paper.
    BFS = auto()


def plan_transfer(
    tagged: TaggedNetwork,
    publisher: int,
    subscribers: Iterable[int],
    *,
    relay_choice: RelayChoice = RelayChoice.HUB,
    previous: TransferPlan | None = None,
    first_number: int = 0,
    hub_limits: FilterLimits = HUB_LIMITS,
    renewed: Collection[int] = (),
    is_local: bool = False,
) -> TransferPlan:
    """How the publisher reaches the subscribers; with `previous`, as little as possible changes.

    Without, segments are numbered from `first_number` on. Segments with `renewed` ends are other
    ones even if nothing else is: their heads are to begin with these ends anew. A local transfer
    reaches the publisher's neighbours only.
    """
    assert previous is None or previous.publisher == publisher
    tree, left_out = _tree_with_room(
        neighbourhood(tagged.network, publisher) if is_local else tagged.network,
        publisher,
        subscribers,
    )
    if relay_choice is RelayChoice.HUB:
        limits = hub_limits
        # All filters change with the epoch: a time to find better segments, too.
        is_new = previous is None or previous.tag_epoch != tagged.epoch
        drafts = hub_segments(tree, tagged, limits=limits, previous=None if is_new else previous)
    else:
        limits = LITERAL_LIMITS
        drafts = bfs_segments(tree, tagged, limits=limits)
    old_segments = {} if previous is None else previous.segments
    next_number = first_number if previous is None else previous.next_number
    segments: list[Segment] = []
    for draft, old in zip(drafts, _counterparts(drafts, old_segments), strict=True):
        is_renewed = any(end in renewed for end in draft.bundle.ends)
        if old is not None and not is_renewed and is_unchanged(old, draft, tree, tagged):
            segments.append(old)
            continue
        if old is not None:
            number, plan = old.number, _NUMBERS.next(old.plan)
        else:
            while next_number in old_segments:
                next_number = _NUMBERS.next(next_number)
            number, plan = next_number, 0
            next_number = _NUMBERS.next(next_number)
        segments.append(filled_segment(draft, tree, tagged, limits, number=number, plan=plan))
    return TransferPlan(
        publisher=publisher,
        tag_epoch=tagged.epoch,
        segments={each.number: each for each in sorted(segments, key=_number)},
        heads=_heads(publisher, segments),
        next_number=next_number,
        left_out=tuple(sorted(left_out)),
    )


def _tree_with_room(
    network: Network, publisher: int, subscribers: Iterable[int]
) -> tuple[Tree, list[int]]:
    """The tree, and whom it does not reach."""
    tree = shortest_path_tree(network, publisher, subscribers)
    surplus = dict.fromkeys(crowded_out(tree))
    left_out = [*tree.unreachable, *surplus]
    if surplus:
        kept = [end for end in tree.ends if end not in surplus]
        tree = shortest_path_tree(network, publisher, kept)
    return tree, left_out


def _counterparts(
    drafts: Sequence[DraftSegment], old_segments: Mapping[int, Segment]
) -> list[Segment | None]:
    """For each draft the old segment of its head with which it shares most links."""
    old_number = {
        (segment.head, link): number
        for number, segment in old_segments.items()
        for link in segment.links
    }
    shared: dict[tuple[int, int], int] = {}
    for at, draft in enumerate(drafts):
        for link in draft.bundle.links:
            number = old_number.get((draft.head, link))
            if number is not None:
                shared[at, number] = shared.get((at, number), 0) + 1
    found: dict[int, int] = {}
    taken: dict[int, None] = {}
    for (at, number), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        if at not in found and number not in taken:
            found[at] = number
            taken[number] = None
    return [old_segments[found[at]] if at in found else None for at in range(len(drafts))]


def _heads(publisher: int, segments: list[Segment]) -> dict[int, Head]:
    """`segments` are ordered by their heads, those nearer to the publisher first."""
    numbers: dict[int, list[int]] = {publisher: []}
    parents: dict[int, int] = {}
    for segment in segments:
        numbers.setdefault(segment.head, []).append(segment.number)
        for end in segment.ends:
            parents[end.node] = segment.number
    head_of = {segment.number: segment.head for segment in segments}
    levels = dict.fromkeys(numbers, 0)
    for node in reversed(numbers):
        if numbers[node]:
            levels[node] = max(1, levels[node])
        if node != publisher:
            above = head_of[parents[node]]
            levels[above] = max(levels[above], levels[node] + 1)
    return {
        node: Head(
            segments=tuple(sorted(own)),
            levels=levels[node],
            parent_segment=None if node == publisher else parents[node],
        )
        for node, own in numbers.items()
    }


def _number(segment: Segment) -> int:
    return segment.number
