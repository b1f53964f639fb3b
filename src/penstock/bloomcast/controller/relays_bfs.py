"""The planner of the paper: a segment grows breadth-first from its head, a node at a time.

A node's child links come into the filter all together or not at all; then it becomes a relay, from
which further segments grow. Only filters downstream must be at most 40 % full.
"""

from __future__ import annotations

from collections import deque

from penstock.bloomcast.controller.draft import (
    LITERAL_LIMITS,
    Bundle,
    DraftSegment,
    FilterLimits,
    bundle_of,
    joined,
    way_back_of,
)
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Branch, Tree


def bfs_segments(
    tree: Tree, tagged: TaggedNetwork, *, limits: FilterLimits = LITERAL_LIMITS
) -> list[DraftSegment]:
    """The segments, those of heads nearer to the root first."""
    drafts: list[DraftSegment] = []
    heads = deque([tree.root])
    while heads:
        grown, relays = _grown(tree, heads.popleft(), tagged, limits)
        drafts += grown
        heads.extend(relays)
    return drafts


def _grown(
    tree: Tree, head: int, tagged: TaggedNetwork, limits: FilterLimits
) -> tuple[list[DraftSegment], list[int]]:
    """The segments of one head, and the relays among their ends."""
    is_end = dict.fromkeys(tree.ends)
    grown: list[Bundle] = []
    relays: list[int] = []
    # Nodes whose child links are still to come, and the segment that they are in.
    waiting: deque[tuple[int, int]] = deque()
    for branch in tree.branches.get(head, ()):
        at = _place(grown, _bundle(tree, tagged, branch, is_end), limits)
        waiting.extend((step.node, at) for step in branch.steps)
    while waiting:
        node, at = waiting.popleft()
        branches = tree.branches.get(node, ())
        if not branches:
            continue
        bundle = grown[at]
        if node not in is_end:
            bundle = bundle._replace(ends=tuple(end for end in bundle.ends if end != node))
        own_step = tree.steps[node]
        whole = joined(
            [
                bundle,
                way_back_of(tagged, [own_step] if own_step.is_lan else []),
                *[_bundle(tree, tagged, each, is_end) for each in branches],
            ]
        )
        if limits.fits(whole):
            grown[at] = whole
            waiting.extend((step.node, at) for each in branches for step in each.steps)
        else:
            relays.append(node)
    return [DraftSegment(head, bundle) for bundle in grown], relays


def _bundle(tree: Tree, tagged: TaggedNetwork, branch: Branch, is_end: dict[int, None]) -> Bundle:
    """Nodes with child links are ends, too, until these are in the filter."""
    ends = tuple(
        step.node for step in branch.steps if step.node in is_end or step.node in tree.branches
    )
    return bundle_of(tagged, branch, ends)


def _place(grown: list[Bundle], branch: Bundle, limits: FilterLimits) -> int:
    """Takes a link of the head into the first segment that has room for it.

    Errata P5: no relay helps a node that has more child links than fit one filter.
    """
    for at, bundle in enumerate(grown):
        both = joined([bundle, branch])
        if limits.fits(both):
            grown[at] = both
            return at
    grown.append(branch)
    return len(grown) - 1
